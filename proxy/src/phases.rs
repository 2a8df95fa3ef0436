//! What happens to a request, one file for each phase, in their order.

pub mod admit;
pub mod answer;
pub mod body;
pub mod fail;
pub mod log;
pub mod select;
