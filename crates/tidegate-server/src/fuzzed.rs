//! What the fuzz targets reach of what is private.

pub use crate::doors::check::{charges_of_question, descriptors_of_call};
