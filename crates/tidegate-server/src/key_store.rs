//! The API keys of the shared store, for those who list and change them.

pub use tidegate_store::redis::Settings;
pub use tidegate_store::redis::api_keys::{ApiKeys, BadEntry, Before, KeyEntry, LentTier, Shelf, hex};
pub use tidegate_store::{Redis, StoreError};
