//! Numbers with tangents: values are the ones of plain numbers, derivatives of derivatives are right.

#[path = "second_order/functions.rs"]
mod functions;
#[path = "second_order/points.rs"]
mod points;
#[path = "second_order/strategies.rs"]
mod strategies;
