//! Reading YAML so that everything knows its place and all that is wrong is told at once.
//!
//! This is how policy files are read. It is public for whoever reads the files of others with the same care.

pub use crate::document::fields::Fields;
pub use crate::document::node::{Node, Place, Spanned, Value, parse_all};
pub use crate::document::report::{Report, quoted};
pub use crate::document::scalar::{boolean, choice, integer, text};
