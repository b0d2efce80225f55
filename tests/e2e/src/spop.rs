//! HAProxy's protocol by hand.

/// The kind of frame by which HAProxy begins.
pub const HAPROXY_HELLO: u8 = 1;
/// That by which it ends.
pub const HAPROXY_DISCONNECT: u8 = 2;
/// A message, which is to be answered.
pub const NOTIFY: u8 = 3;

/// A string as the protocol has it; all here are short.
pub fn string(text: &str) -> Vec<u8> {
    [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
}

/// A frame of `kind` about a message, named by its stream and its number.
pub fn frame(kind: u8, name: [u8; 2], payload: &[u8]) -> Vec<u8> {
    let body = [&[kind], &1_u32.to_be_bytes()[..], &name, payload].concat();
    let length = u32::try_from(body.len()).unwrap();
    [&length.to_be_bytes()[..], &body].concat()
}

/// How HAProxy begins, with `more` in its greeting.
pub fn hello(more: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    for (name, value) in [
        ("supported-versions", "2.0"),
        ("capabilities", "pipelining,async"),
    ] {
        payload.extend([string(name), vec![8], string(value)].concat());
    }
    payload.extend([string("max-frame-size"), vec![3, 0xf0, 0xf1, 0x06]].concat());
    payload.extend(more);
    frame(HAPROXY_HELLO, [0, 0], &payload)
}

/// A message about a request of 203.0.113.`last`.
pub fn notify(number: u8, last: u8) -> Vec<u8> {
    let mut payload = [string("tidegate-check"), vec![3]].concat();
    payload.extend([string("src"), vec![6, 203, 0, 113, last]].concat());
    payload.extend([string("method"), vec![8], string("GET")].concat());
    payload.extend([string("path"), vec![8], string("/a")].concat());
    frame(NOTIFY, [number, 1], &payload)
}
