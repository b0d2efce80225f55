//! What every store must do, done by this one on a real server whose time the suite sets.

use core::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use tidegate_core::KeyHasher;
use tidegate_store::conformance::{Resolution, Subject};

use super::*;

struct OnAServer {
    redis: Arc<Redis>,
    keys: KeyHasher,
}

impl fmt::Debug for OnAServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.redis.fmt(f)
    }
}

fn subject() -> OnAServer {
    let settings = patient(Servers::Unix(Server::shared().socket()));
    let runtime = tokio::runtime::Handle::current();
    let drawn = || RandomState::new().build_hasher().finish().to_le_bytes();
    let mut secret = [0; 16];
    secret[..8].copy_from_slice(&drawn());
    secret[8..].copy_from_slice(&drawn());
    OnAServer {
        redis: Arc::new(Redis::by_callers_clock(&settings, runtime).expect("sound settings")),
        keys: KeyHasher::new(secret),
    }
}

tidegate_store::conformance_tests! { subject() }

impl Subject for OnAServer {
    type Store = Redis;

    fn store(&self) -> Arc<Redis> {
        Arc::clone(&self.redis)
    }

    async fn set_time(&self, _now: Timestamp) {}

    fn keys(&self) -> KeyHasher {
        self.keys.clone()
    }

    fn resolution(&self) -> Resolution {
        Resolution::Microseconds
    }
}
