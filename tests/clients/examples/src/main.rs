//! Runs the example of this number. The file is written by the test.
#![allow(dead_code, reason = "examples that need a request to verify are compiled only")]

include!(env!("EXAMPLES"));
