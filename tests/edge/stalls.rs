//! Isolates that do not run for a while, as on a busy machine: SIGSTOP of workerd amid calls.

use std::{thread, time::Duration};

use tests::{
    faults::METER,
    http::{Request, Response},
    stack::PROBE_BOUND,
    wait::wait_for,
};

use super::world::World;

const CALLS: usize = 4;

impl World {
    /// Makes calls of one key in parallel, and stalls the worker while they ask the meter.
    fn call_amid_stall(&self, key: &str, length: Duration) -> Vec<Response> {
        let before = self.faults.count(METER);
        thread::scope(|scope| {
            let calls: Vec<_> = (0..CALLS).map(|_| scope.spawn(|| self.call(key))).collect();
            wait_for(PROBE_BOUND, || (self.faults.count(METER) > before).then_some(()));
            self.edge.stall(length);
            calls.into_iter().map(|call| call.join().unwrap()).collect()
        })
    }

    fn charged(&self, key: &str) -> u64 {
        let usage = Request::get("/v1/keys/me").key(key).send(self.edge.addr).json();
        usage["usage"]["day"]["used"].as_u64().unwrap()
    }
}

/// The stall ends after the response could admit the call. Another copy of the request is sent within
/// the three seconds that a Free call waits.
#[test]
fn free_calls_are_200_after_a_stall_of_their_isolate() {
    let world = World::start();
    for length in [400, 800].map(Duration::from_millis) {
        for round in 0..12 {
            let (key, _) = world.edge.issue("free");
            assert_eq!((world.call(&key).status, world.call(&key).status), (200, 200));
            for response in world.call_amid_stall(&key, length) {
                assert_eq!(response.status, 200, "{length:?}, round {round}: {}", response.text());
            }
            assert_eq!(world.charged(&key), 2 + CALLS as u64, "each is charged once");
        }
    }
}
