//! The imported policies against slow models of what the files say, call by call.

mod envoy;
mod envoy_model;
mod limitador;
mod limitador_model;
mod replay;
