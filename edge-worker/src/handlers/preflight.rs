//! `OPTIONS` on any route: free, and without a key.

use shared::{headers, route::Method};

use crate::respond::Answer;

pub(crate) fn answer(methods: &[Method]) -> Answer {
    Answer::Written { status: 204, headers: headers::preflight(methods).into(), body: String::new() }
}
