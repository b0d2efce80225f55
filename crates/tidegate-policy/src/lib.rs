//! What users write, compiled.
//!
//! Pure: a policy file becomes a [`Config`] with its [`PolicySet`], a [`Request`] with its [`Identity`] becomes a [`Plan`] of
//! charges, the store's decisions become a [`Verdict`], and a verdict becomes header fields and a body.

mod identity;
mod plan;
mod request;

pub use identity::{Identity, Subject, Tier};
pub use plan::Plan;
pub use request::Request;
