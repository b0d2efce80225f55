//! Where the charges of a plan are decided: in this process's memory, in the store that instances share, or in both; and what
//! is done while that store cannot be asked.

mod answer;
mod counters;
mod hold;

pub use answer::Answer;
pub use counters::{Counters, Outage};
pub use hold::Hold;
