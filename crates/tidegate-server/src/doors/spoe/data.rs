//! Numbers, strings and typed values, as SPOP writes them (HAProxy's doc/SPOE.txt, sections 3.1 and 3.2.2).

use std::net::IpAddr;

/// Bytes that are read from the front.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'b>(pub(crate) &'b [u8]);

/// It is not written as it should be, or ends too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// A typed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'b> {
    Null,
    Flag(bool),
    /// Any of the four kinds of numbers; a negative one is a very large one.
    Number(u64),
    Address(IpAddr),
    /// Text or bytes.
    Bytes(&'b [u8]),
}

const STRING: u8 = 8;
const UNSIGNED_32: u8 = 3;

impl<'b> Reader<'b> {
    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        let (first, rest) = self.0.split_first().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'b [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.take(N)?.try_into().map_err(|_| Malformed)
    }

    /// A number of variable length.
    pub(crate) fn number(&mut self) -> Result<u64, Malformed> {
        let first = self.byte()?;
        let mut value = u64::from(first);
        if first < 0xf0 {
            return Ok(value);
        }
        for shift in (4..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte);
            let part = part.checked_mul(1 << shift).ok_or(Malformed)?;
            value = value.checked_add(part).ok_or(Malformed)?;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    /// Bytes with their length in front.
    pub(crate) fn string(&mut self) -> Result<&'b [u8], Malformed> {
        let length = self.number()?;
        self.take(usize::try_from(length).map_err(|_| Malformed)?)
    }

    /// A typed value.
    pub(crate) fn value(&mut self) -> Result<Value<'b>, Malformed> {
        let kind = self.byte()?;
        Ok(match kind & 0x0f {
            0 => Value::Null,
            1 => Value::Flag(kind & 0x10 != 0),
            2..=5 => Value::Number(self.number()?),
            6 => Value::Address(self.array::<4>()?.into()),
            7 => Value::Address(self.array::<16>()?.into()),
            8 | 9 => Value::Bytes(self.string()?),
            _ => return Err(Malformed),
        })
    }
}

/// Writes `value` in variable length.
pub(crate) fn put_number(mut value: u64, into: &mut Vec<u8>) {
    if value < 0xf0 {
        return into.push(low_byte(value));
    }
    into.push(low_byte(value) | 0xf0);
    value = (value - 0xf0) >> 4;
    while value >= 0x80 {
        into.push(low_byte(value) | 0x80);
        value = (value - 0x80) >> 7;
    }
    into.push(low_byte(value));
}

#[expect(clippy::cast_possible_truncation, reason = "that byte of it")]
fn low_byte(value: u64) -> u8 {
    value as u8
}

/// Writes `bytes` with their length in front.
pub(crate) fn put_string(bytes: &[u8], into: &mut Vec<u8>) {
    put_number(bytes.len() as u64, into);
    into.extend_from_slice(bytes);
}

/// Writes a value that is text.
pub(crate) fn put_text(text: &[u8], into: &mut Vec<u8>) {
    into.push(STRING);
    put_string(text, into);
}

/// Writes a value that is a number.
pub(crate) fn put_unsigned(number: u32, into: &mut Vec<u8>) {
    into.push(UNSIGNED_32);
    put_number(number.into(), into);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_number(value, &mut bytes);
        bytes
    }

    /// The thresholds are those of HAProxy's documentation.
    #[test]
    fn numbers_grow_where_the_protocol_says() {
        for (threshold, length) in [
            (240, 1),
            (2_288, 2),
            (264_432, 3),
            (33_818_864, 4),
            (4_328_786_160, 5),
        ] {
            assert_eq!(written(threshold - 1).len(), length, "{threshold}");
            assert_eq!(written(threshold).len(), length + 1, "{threshold}");
        }
        assert_eq!(written(240), [0xf0, 0]);
        assert_eq!(written(2_288), [0xf0, 0x80, 0]);
    }

    #[test]
    fn numbers_are_read_as_they_were_written_and_no_larger_ones() {
        for value in [
            0,
            1,
            239,
            240,
            2_287,
            2_288,
            u64::from(u32::MAX),
            u64::MAX - 1,
            u64::MAX,
        ] {
            let bytes = written(value);
            let mut reader = Reader(&bytes);
            assert_eq!(reader.number(), Ok(value));
            assert!(reader.is_empty());
            for end in 0..bytes.len() {
                assert_eq!(Reader(&bytes[..end]).number(), Err(Malformed), "{value} {end}");
            }
        }
        let mut beyond = [0xff; 11];
        assert_eq!(Reader(&beyond).number(), Err(Malformed));
        beyond[9] = 0x7f;
        assert_eq!(Reader(&beyond).number(), Err(Malformed));
    }

    #[test]
    fn every_kind_of_value_is_read() {
        let read = |bytes: &'static [u8]| Reader(bytes).value();
        assert_eq!(read(&[0]), Ok(Value::Null));
        assert_eq!(read(&[0x11]), Ok(Value::Flag(true)));
        assert_eq!(read(&[0x01]), Ok(Value::Flag(false)));
        for kind in 2..=5 {
            assert_eq!(Reader(&[kind, 7]).value(), Ok(Value::Number(7)));
        }
        assert_eq!(
            read(&[6, 192, 0, 2, 1]),
            Ok(Value::Address([192, 0, 2, 1].into()))
        );
        let mut v6 = [0; 17];
        (v6[0], v6[16]) = (7, 1);
        assert_eq!(Reader(&v6).value(), Ok(Value::Address("::1".parse().unwrap())));
        assert_eq!(read(&[8, 1, b'a']), Ok(Value::Bytes(b"a")));
        assert_eq!(read(&[9, 0]), Ok(Value::Bytes(b"")));
        for wrong in [&[][..], &[10], &[15], &[6, 1, 2, 3], &[8, 2, b'a'], &[2]] {
            assert_eq!(Reader(wrong).value(), Err(Malformed), "{wrong:?}");
        }
    }
}
