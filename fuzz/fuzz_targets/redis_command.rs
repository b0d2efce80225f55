//! Whatever a client of the door for Redis sends: a command ends within it, is the same whatever follows, and each of its beginnings is
//! unfinished; and no more is held than a command is long.
#![no_main]

use libfuzzer_sys::fuzz_target;

// The server keeps its decoder to itself.
#[path = "../../crates/tidegate-server/src/doors/redis/decoder.rs"]
mod decoder;

use decoder::{Decoded, MAX_ARGUMENT_BYTES, MAX_ARGUMENTS, MAX_COMMAND_BYTES, decode};

const STARTS: [&[u8]; 4] = [b"", b"*3\r\n$1\r\na\r\n", b"*1\r\n$", b"*"];

fuzz_target!(|input: (u8, &[u8])| {
    let (start, bytes) = input;
    let bytes = [STARTS[usize::from(start) % STARTS.len()], bytes].concat();
    match decode(&bytes) {
        Decoded::Command(arguments, length) => {
            assert!(length <= bytes.len() && length <= MAX_COMMAND_BYTES);
            assert!(arguments.len() <= MAX_ARGUMENTS);
            assert!(arguments.iter().all(|argument| argument.len() <= MAX_COMMAND_BYTES));
            if bytes.starts_with(b"*") {
                assert!(arguments.iter().all(|argument| argument.len() <= MAX_ARGUMENT_BYTES));
            }
            assert_eq!(decode(&bytes[..length]), Decoded::Command(arguments, length));
            for end in 0..length {
                assert_eq!(decode(&bytes[..end]), Decoded::Unfinished);
            }
        }
        Decoded::Unfinished => assert!(bytes.len() < MAX_COMMAND_BYTES),
        Decoded::Wrong(_) => {
            let more = [&bytes[..], b"x"].concat();
            assert!(matches!(decode(&more), Decoded::Wrong(_)));
        }
    }
});
