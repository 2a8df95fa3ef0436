//! Prints what the limits cost and keep, scenario by scenario: `cargo run --release -p tests --bin sim`.
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use tests::sim::{named, table};

fn main() {
    println!("{}", table::head());
    for scenario in named() {
        println!("{}", table::rows(&scenario));
    }
}
