mod credentials;
mod origin;
mod pass;
mod promises;
mod refusal;

use tidegate_core::Timestamp;

/// 2026-11-30T12:00:00.5Z.
pub(super) const NOW: Timestamp = Timestamp::from_nanos(1_796_040_000_500_000_000);
