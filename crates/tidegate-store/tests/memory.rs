//! The memory store against the suite.

use std::future::{Future, ready};
use std::sync::Arc;

use tidegate_core::{KeyHasher, TableSize, Timestamp};
use tidegate_store::Memory;
use tidegate_store::conformance::{Resolution, Subject};

#[derive(Debug)]
struct InMemory(Arc<Memory>);

impl InMemory {
    fn new() -> Self {
        Self(Arc::new(Memory::new(TableSize {
            bucket_bytes: 1 << 20,
            ledger_bytes: 1 << 20,
        })))
    }
}

impl Subject for InMemory {
    type Store = Memory;

    fn store(&self) -> Arc<Memory> {
        Arc::clone(&self.0)
    }

    fn set_time(&self, _now: Timestamp) -> impl Future<Output = ()> + Send {
        ready(())
    }

    fn keys(&self) -> KeyHasher {
        KeyHasher::new([7; 16])
    }

    fn resolution(&self) -> Resolution {
        Resolution::Nanoseconds
    }
}

tidegate_store::conformance_tests!(InMemory::new());
