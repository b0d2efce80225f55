//! Whatever HAProxy, or somebody in its place, sends: a frame ends within it, and what it says is read or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;

// The server keeps its decoder to itself.
#[path = "../../crates/tidegate-server/src/doors/spoe"]
mod spoe {
    pub(crate) mod data;
    pub(crate) mod frame;
    pub(crate) mod message;
}

use spoe::data::{Reader, put_number};
use spoe::frame::{Decoded, Frame, MAX_FRAME_BYTES, agree, decode};
use spoe::message::{MAX_FIELDS, find};

fuzz_target!(|input: (u8, u64, &[u8])| {
    let (kind, number, payload) = input;
    let mut written = Vec::new();
    put_number(number, &mut written);
    assert_eq!(Reader(&written).number(), Ok(number));

    let head = [&[kind % 5][..], &1_u32.to_be_bytes(), &[0, 0]].concat();
    let length = u32::try_from(head.len() + payload.len()).unwrap();
    let frame = [&length.to_be_bytes()[..], &head, payload].concat();
    for bytes in [&frame[..], payload] {
        let decoded = decode(bytes, MAX_FRAME_BYTES);
        if let Decoded::Frame(frame, length) = decoded {
            assert!(length <= bytes.len());
            assert_eq!(decode(&bytes[..length], MAX_FRAME_BYTES), decoded);
            match frame {
                Frame::Hello(greeting) => drop(agree(greeting)),
                Frame::Notify(_, payload) => describe(payload),
                Frame::Disconnect | Frame::Unknown => {}
            }
        }
    }
    describe(payload);
});

fn describe(payload: &[u8]) {
    if let Ok(Some(told)) = find(payload)
        && let Ok(request) = told.request()
    {
        assert!(request.headers().len() <= MAX_FIELDS);
        assert!(request.uri().path() == "*" || request.uri().path().starts_with('/'));
    }
}
