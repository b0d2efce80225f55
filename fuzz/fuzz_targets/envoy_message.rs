//! Whatever bytes Envoy sends, they are a message or none, and a message that is written again is read as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prost::Message;

// The gateway keeps its messages to itself.
#[allow(dead_code, reason = "answers are not read here")]
#[path = "../../crates/tidegate-server/src/doors/envoy"]
mod envoy {
    pub(crate) mod wire;
}

use envoy::wire::auth::CheckRequest;
use envoy::wire::health::HealthCheckRequest;
use envoy::wire::rate_limit::RateLimitRequest;

fuzz_target!(|bytes: &[u8]| {
    is_kept::<RateLimitRequest>(bytes);
    is_kept::<CheckRequest>(bytes);
    is_kept::<HealthCheckRequest>(bytes);
});

fn is_kept<M: Message + Default + PartialEq>(bytes: &[u8]) {
    if let Ok(message) = M::decode(bytes) {
        assert!(M::decode(&*message.encode_to_vec()) == Ok(message));
    }
}
