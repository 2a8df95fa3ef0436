//! A product source: a shop changes and pushes, its feed is fetched slowly, and the account shows the
//! products on a page.

use std::{cell::Cell, collections::BTreeSet, rc::Rc};

use biolink::{
    page::{PageId, SourceId},
    pages_api::{Call, Decision, Operation, SourceCall},
    product_sync::{SourceMessage, SourceWrite},
    webhooks::EncryptionKeys,
};
use serde_json::Value;
use shared::key::KeyId;

use super::{
    account::AccountShell,
    durable::Object,
    places::Places,
    runtime::{Scope, Sim},
    source::{self, SourceShell},
};

const ACCOUNT: KeyId = KeyId::new([1; 12]);
const CHANGES: u64 = 14;
const PRODUCTS: u64 = 4;
/// The shop repeats a push that was not answered so often.
const PUSHES: u64 = 3;
const PUSH_TIMEOUT_MS: u64 = 15_000;

pub(super) const CALM_AT: u64 = 300_000;
/// Before the schedule's next run, which would hide what is missing: it is an hour away at least. An alarm
/// may be an hour late.
const END: u64 = CALM_AT + 3_700_000;

pub(super) fn run(sim: &Sim) {
    let places = Places::new(sim);
    let made = Rc::new(Cell::new(None));
    let (making, done) = (Rc::clone(&places), Rc::clone(&made));
    sim.spawn(&Scope::default(), async move { done.set(prepare(&making).await) });
    sim.run_until(5_000);
    let Some((page, id)) = made.get() else { return sim.violate("the account refuses a page with a source") };
    let (account, source) = (places.account(ACCOUNT), places.source(id));
    sim.disturb();
    for number in 0..CHANGES {
        // In bursts, so that they meet fetches and edits.
        let at = sim.below(6) * 40_000 + sim.below(4_000);
        let product = sim.below(PRODUCTS);
        let (is_there, is_end, is_pushed, is_refresh) =
            (sim.chance(700), sim.chance(200), !sim.chance(200), sim.chance(150));
        if !is_there {
            continue;
        }
        let (sim, places, source) = (sim.clone(), Rc::clone(&places), Rc::clone(&source));
        sim.clone().spawn(&Scope::default(), async move {
            sim.sleep(at).await;
            let version = (!is_end).then_some(number + 1);
            match version {
                Some(version) => drop(source.shell.shop.products.borrow_mut().insert(product, version)),
                None => drop(source.shell.shop.products.borrow_mut().remove(&product)),
            }
            if is_refresh {
                places.call_source(id, SourceMessage::Refresh).await;
            }
            for _attempt in 0..if is_pushed { PUSHES } else { 0 } {
                let object = Rc::clone(&source);
                let send = move || {
                    let object = Rc::clone(&object);
                    async move {
                        object
                            .handle(move |object, on| source::push(object, on, number, (product, version)))
                            .await
                    }
                };
                if sim.call(PUSH_TIMEOUT_MS, send).await.is_some() {
                    break;
                }
            }
        });
    }
    sim.run_until(END);
    // What is on its way arrives.
    for second in 1..=60 {
        if shown(&account, page) == expected(&source) {
            return;
        }
        sim.run_until(END + second * 1_000);
    }
    let (shown, newest) = (shown(&account, page), expected(&source));
    sim.violate(format!("the page shows {shown:?}, and the newest push or fetch has {newest:?}"));
}

/// Makes a published page with a source.
async fn prepare(places: &Rc<Places>) -> Option<(PageId, SourceId)> {
    let body = r#"{"title":"Ada","slug":"ada","status":"published"}"#.to_owned();
    let page = PageId::parse(call(places, Operation::Create(body)).await?["id"].as_str()?)?;
    let keys = EncryptionKeys::parse(&"0123456789abcdef".repeat(4)).ok()?;
    let drawn = keys.seal_bytes(b"secret", &ACCOUNT.to_string(), &[7; 24]);
    let body = r#"{"url":"https://shop.example/feed","push":{"enabled":true}}"#.to_owned();
    let write = SourceWrite { body, faults: Vec::new(), given: None, drawn };
    let created = call(places, Operation::Sources(page, SourceCall::Create(write))).await?;
    Some((page, SourceId::parse(created["id"].as_str()?)?))
}

async fn call(places: &Rc<Places>, operation: Operation) -> Option<Value> {
    let call = Call {
        account: ACCOUNT,
        request_id: [0; 16],
        at: places.sim.now(),
        seed: places.sim.bytes(),
        base: String::new(),
        locale: None,
        operation,
        dry_run: false,
        secret: None,
        if_match: None,
        once: None,
        claim: None,
        proof: None,
    };
    let Some(Decision::Reply(reply)) = places.call_account(call).await else { return None };
    let body = reply.into_response().body;
    places.sim.note(|| body.to_string());
    serde_json::from_str(&body).ok()
}

/// Returns the products of the page, as they are stored.
fn shown(account: &Object<AccountShell>, page: PageId) -> BTreeSet<String> {
    account.rows(|rows| {
        let newest = rows.contents.iter().rfind(|((of, _), _)| *of == page);
        let content = newest.map(|(_, content)| serde_json::to_value(content).unwrap()).unwrap_or_default();
        let items = content["document"]["products"]["items"].as_array().cloned().unwrap_or_default();
        items.iter().map(|item| item["title"].as_str().unwrap().to_owned()).collect()
    })
}

fn expected(source: &Object<SourceShell>) -> BTreeSet<String> {
    let newest = source.shell.shop.newest.borrow();
    newest.iter().map(|(product, version)| format!("{product} v{version}")).collect()
}
