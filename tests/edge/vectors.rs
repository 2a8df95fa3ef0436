//! The table of vectors, run against the edge.

use tests::{
    keys,
    stack::Stack,
    vector::{self, Boundary},
};

#[test]
fn edge_response_matches_every_vector() {
    let stack = Stack::start();
    let (key, _) = stack.edge.issue("enterprise");
    vector::check_all(Boundary::Edge, |row| {
        row.request(keys::present(row.request.key, &key).as_deref()).send(stack.edge.addr)
    });
}
