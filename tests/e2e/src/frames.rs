//! HTTP/2 by hand.

/// How a client begins, with settings that change nothing.
pub fn hello() -> Vec<u8> {
    hello_with(&[])
}

/// How a client begins with settings: a number and a value each.
pub fn hello_with(settings: &[(u16, u32)]) -> Vec<u8> {
    let each = settings.iter().map(|(name, value)| {
        let mut bytes = name.to_be_bytes().to_vec();
        bytes.extend(value.to_be_bytes());
        bytes
    });
    let payload: Vec<u8> = each.flatten().collect();
    [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice(),
        &frame(SETTINGS, 0, 0, &payload),
    ]
    .concat()
}

/// Kinds of frames.
pub const DATA: u8 = 0;
/// The first piece of a head.
pub const HEADERS: u8 = 1;
/// Which stream matters more.
pub const PRIORITY: u8 = 2;
/// A stream is given up.
pub const RESET: u8 = 3;
/// Settings.
pub const SETTINGS: u8 = 4;
/// A question that wants an answer.
pub const PING: u8 = 6;
/// The connection ends.
pub const GOAWAY: u8 = 7;
/// More room to send.
pub const WINDOW: u8 = 8;
/// A further piece of a head.
pub const CONTINUATION: u8 = 9;

/// A flag of HEADERS and DATA: nothing follows on this stream.
pub const END_STREAM: u8 = 1;
/// A flag of HEADERS and CONTINUATION: the head is whole.
pub const END_HEADERS: u8 = 4;

/// SETTINGS_INITIAL_WINDOW_SIZE.
pub const INITIAL_WINDOW: u16 = 4;

/// One frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Fields of a head, written out in full: no table, no Huffman.
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            integer(&mut block, text.len());
            block.extend(text.as_bytes());
        }
    }
    block
}

/// A length with seven bits in its first byte (RFC 7541, section 5.1).
fn integer(block: &mut Vec<u8>, value: usize) {
    const FULL: usize = 127;
    let Some(mut rest) = value.checked_sub(FULL) else {
        block.push(u8::try_from(value).unwrap());
        return;
    };
    block.push(0x7f);
    while rest >= 128 {
        block.push(u8::try_from(rest % 128 + 128).unwrap());
        rest /= 128;
    }
    block.push(u8::try_from(rest).unwrap());
}

/// The pseudo-fields of a request of host `a`, as a block.
pub fn request(method: &str, path: &str) -> Vec<u8> {
    block(&[
        (":method", method),
        (":scheme", "http"),
        (":path", path),
        (":authority", "a"),
    ])
}

/// `GET path` without a body, on a stream.
pub fn get(stream: u32, path: &str) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &request("GET", path))
}

/// The head of `POST path`, whose body follows.
pub fn post(stream: u32, path: &str) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &request("POST", path))
}

/// A call of gRPC on a stream.
pub fn call(stream: u32, path: &str, message: &[u8]) -> Vec<u8> {
    let mut head = request("POST", path);
    head.extend(block(&[("content-type", "application/grpc")]));
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    let body = [&[0], &length[..], message].concat();
    [
        frame(HEADERS, END_HEADERS, stream, &head),
        frame(DATA, END_STREAM, stream, &body),
    ]
    .concat()
}

/// The numbers that a client may give to its first `many` streams.
pub fn streams(many: u32) -> impl Iterator<Item = u32> {
    (0..many).map(|index| 2 * index + 1)
}

/// The error code of the GOAWAY in what a client heard.
pub fn goaway(mut heard: &[u8]) -> Option<u32> {
    while heard.len() >= 9 {
        let length = usize::from(heard[0]) << 16 | usize::from(heard[1]) << 8 | usize::from(heard[2]);
        let payload = heard.get(9..9 + length)?;
        if heard[3] == GOAWAY {
            return Some(u32::from_be_bytes(payload[4..8].try_into().unwrap()));
        }
        heard = &heard[9 + length..];
    }
    None
}
