//! Protocol buffers, as bytes: <https://protobuf.dev/programming-guides/encoding/>.

/// A message in the making.
#[derive(Clone, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn with_number(mut self, field: u64, number: u64) -> Self {
        self.varint(field << 3);
        self.varint(number);
        self
    }

    pub(super) fn with_bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn with_text(self, field: u64, text: &str) -> Self {
        self.with_bytes(field, text.as_bytes())
    }

    pub(super) fn with_message(self, field: u64, message: &Self) -> Self {
        self.with_bytes(field, message.bytes())
    }

    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.0.push(number.to_le_bytes()[0]);
    }
}

/// The fields of a message that came, in their order.
#[derive(Debug)]
pub(super) struct Fields(Vec<(u64, Value)>);

#[derive(Debug)]
enum Value {
    Number(u64),
    Bytes(Vec<u8>, Option<Fields>),
}

/// Reads `bytes`, which are a message.
pub(super) fn read(bytes: &[u8]) -> Fields {
    try_read(bytes).expect("a message")
}

fn try_read(mut bytes: &[u8]) -> Option<Fields> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let value = match tag & 7 {
            0 => Value::Number(varint(&mut bytes)?),
            1 => Value::Number(f64::from_le_bytes(take(&mut bytes, 8)?.try_into().ok()?).to_bits()),
            2 => {
                let length = varint(&mut bytes)?;
                let inner = take(&mut bytes, usize::try_from(length).ok()?)?;
                Value::Bytes(inner.to_vec(), try_read(inner))
            }
            _ => return None,
        };
        fields.push((tag >> 3, value));
    }
    Some(Fields(fields))
}

fn take<'b>(bytes: &mut &'b [u8], count: usize) -> Option<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)?[0];
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

impl Fields {
    fn all(&self, field: u64) -> impl Iterator<Item = &Value> {
        self.0
            .iter()
            .filter(move |(own, _)| *own == field)
            .map(|(_, value)| value)
    }

    /// The number in `field`; 0 if there is none.
    pub(super) fn number(&self, field: u64) -> u64 {
        match self.all(field).next() {
            Some(Value::Number(number)) => *number,
            None => 0,
            Some(other) => panic!("field {field} is {other:?}"),
        }
    }

    /// The text in `field`; empty if there is none.
    pub(super) fn text(&self, field: u64) -> &str {
        match self.all(field).next() {
            Some(Value::Bytes(bytes, _)) => std::str::from_utf8(bytes).unwrap(),
            None => "",
            Some(other) => panic!("field {field} is {other:?}"),
        }
    }

    /// The texts in `field`.
    pub(super) fn texts(&self, field: u64) -> Vec<&str> {
        let texts = self.all(field).map(|value| match value {
            Value::Bytes(bytes, _) => std::str::from_utf8(bytes).unwrap(),
            other => panic!("field {field} is {other:?}"),
        });
        texts.collect()
    }

    /// The messages in `field`.
    pub(super) fn messages(&self, field: u64) -> Vec<&Self> {
        let inner = self.all(field).map(|value| match value {
            Value::Bytes(_, Some(message)) => message,
            other => panic!("field {field} is {other:?}"),
        });
        inner.collect()
    }

    /// The message in `field`, of which there is at most one.
    pub(super) fn message(&self, field: u64) -> Option<&Self> {
        let all = self.messages(field);
        assert!(all.len() <= 1, "field {field} comes {} times", all.len());
        all.first().copied()
    }
}
