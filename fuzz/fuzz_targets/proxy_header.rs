//! Whatever a connection begins with, a header of the PROXY protocol ends within it, is the same whatever follows, and each of its
//! beginnings is unfinished.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_policy::ProxyProtocol;

// The gateway keeps its parser to itself.
#[path = "../../crates/tidegate-server/src/gateway"]
mod gateway {
    pub(crate) mod proxy_header;
}

use gateway::proxy_header::{MAX_BYTES, Outcome, parse};

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

fuzz_target!(|input: (u8, &[u8])| {
    let (start, bytes) = input;
    let start = [&b""[..], b"PROXY ", b"PROXY TCP4 ", SIGNATURE][usize::from(start) % 4];
    let bytes = [start, bytes].concat();
    for accepted in [ProxyProtocol::V1, ProxyProtocol::V2, ProxyProtocol::Any] {
        let outcome = parse(&bytes, accepted);
        match outcome {
            Outcome::Header { length, .. } => {
                assert!(length <= bytes.len() && length <= MAX_BYTES);
                assert_eq!(parse(&bytes[..length], accepted), outcome);
                for end in 0..length {
                    assert_eq!(parse(&bytes[..end], accepted), Outcome::Unfinished);
                }
            }
            Outcome::Unfinished => assert!(bytes.len() < MAX_BYTES),
            Outcome::Bad => assert_eq!(parse(&[&bytes[..], b"x"].concat(), accepted), Outcome::Bad),
        }
    }
});
