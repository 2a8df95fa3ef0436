//! The clients of accounts, which call at random times and call again without a reply.

use biolink::pages_api::{Call, Decision, Once, Operation};
use shared::response::Response;

use super::{
    account::AccountShell,
    durable::Object,
    runtime::{Scope, Sim, json},
};

/// Starts up to `calls` clients before a time, each of a random one of so many accounts.
pub(super) fn spawn<F: Future<Output = ()> + 'static>(
    sim: &Sim,
    calls: u64,
    before: u64,
    accounts: u8,
    client: impl Fn(usize) -> F,
) {
    for _ in 0..calls {
        let (at, which) = (sim.below(before), usize::try_from(sim.below(accounts.into())).unwrap());
        if !sim.chance(700) {
            continue;
        }
        let (later, client) = (sim.clone(), client(which));
        sim.spawn(&Scope::default(), async move {
            later.sleep(at).await;
            client.await;
        });
    }
}

/// Calls, and a second time if there is no reply. `path` is that of an operation with an `Idempotency-Key`.
pub(super) async fn call(
    account: &Object<AccountShell>,
    operation: &Operation,
    path: Option<&str>,
) -> Option<Response> {
    let sim = &account.sim;
    let key = sim.bytes::<8>().map(|byte| format!("{byte:02x}")).concat();
    for _attempt in 0..2 {
        let call = Call {
            account: account.shell.id,
            request_id: sim.bytes(),
            at: sim.now(),
            seed: sim.bytes(),
            base: "https://p.example".to_owned(),
            locale: None,
            operation: operation.clone(),
            dry_run: false,
            secret: None,
            if_match: None,
            once: path.map(|path| Once::new(&key, None, "POST", path, b"")),
            claim: None,
            proof: None,
        };
        sim.note(|| {
            format!("{}: call {} claim {}", account.name, json(&call.operation), call.claim_number())
        });
        let reply = account.shell.places.call_account(call).await;
        if let Some(Decision::Reply(reply)) = reply {
            let response = reply.into_response();
            sim.note(|| format!("{}: client gets {}", account.name, response.status));
            return Some(response);
        }
    }
    None
}
