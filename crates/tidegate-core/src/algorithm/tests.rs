//! Every algorithm against what it promises.

mod against_models;
mod bounds;
mod calendar;
mod carry_over;
mod counter;
mod extremes;
mod few_instructions;
mod models;
mod operations;
mod steady;
mod vectors;
