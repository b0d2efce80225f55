//! The store that many instances share: Redis or Valkey, asked by one script call for all charges of a request.

#![allow(dead_code, reason = "the connection that uses it comes next")]

pub(crate) mod call;
pub(crate) mod denials;
pub(crate) mod name;
pub(crate) mod numbers;
pub(crate) mod script;

pub use numbers::{Numbers, Uncountable};
