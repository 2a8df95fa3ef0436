//! The table of vectors, put to the edge.

use tests::{
    keys,
    stack::Stack,
    vector::{self, Boundary},
};

#[test]
fn the_edge_answers_every_vector_as_the_table_says() {
    let stack = Stack::start();
    let (key, _) = stack.edge.issue("enterprise");
    vector::check_all(Boundary::Edge, |row| {
        row.request(keys::present(row.request.key, &key).as_deref()).send(stack.edge.addr)
    });
}
