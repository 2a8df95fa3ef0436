//! The shell of an account's object: loads what a call needs, steps the account, stores, and empties the
//! outbox.

use std::{
    collections::{BTreeMap, HashMap},
    rc::Rc,
};

use biolink::{
    domains::{Check, Proof},
    page::{DomainId, IdSource, PageId},
    pages_api::{
        Account, Call, Claim, ClaimOutcome, Content, Decision, DeniedHosts, Loaded, SlugMessage, SlugReply,
        Step, StoredReply, Task, Write, host_owner, suggestions,
    },
    product_sync::SourceMessage,
};
use shared::{key::KeyId, time::UnixMillis};

use super::{
    durable::{Fenced, Instance, Object, Shell},
    places::Places,
    runtime::json,
};

/// The shell of an account.
pub(super) struct AccountShell {
    pub(super) id: KeyId,
    pub(super) places: Rc<Places>,
}

#[derive(Clone, Default)]
pub(super) struct AccountRows {
    pub(super) state: Option<Account>,
    pub(super) contents: BTreeMap<(PageId, u64), Content>,
    replies: HashMap<String, StoredReply>,
}

#[derive(Default)]
pub(super) struct AccountMemory {
    state: Option<Account>,
    armed: Option<UnixMillis>,
}

impl Shell for AccountShell {
    type Rows = AccountRows;
    type Memory = AccountMemory;

    async fn alarm(object: Rc<Object<Self>>, on: Rc<Instance<Self>>) {
        on.memory.borrow_mut().armed = None;
        let _ended = deliver(&object, &on).await;
        let _armed = arm(&object, &on);
    }
}

async fn deliver(object: &Object<AccountShell>, on: &Instance<AccountShell>) -> Result<(), Fenced> {
    for task in with_state(object, on, |state| state.due(object.clock()))? {
        if let Task::CheckDomain(id) = &task {
            check_domain(object, on, id).await?;
            continue;
        }
        let is_done = perform(object, on, &task).await;
        object.sim.note(|| format!("{}: {} done: {is_done}", object.name, json(&task)));
        with_state(object, on, |state| state.settle(&task, is_done, object.clock()))?;
    }
    Ok(())
}

async fn check_domain(
    object: &Object<AccountShell>,
    on: &Instance<AccountShell>,
    id: &DomainId,
) -> Result<(), Fenced> {
    let (account, claim) = (object.shell.id, u64::from_be_bytes(object.sim.bytes()) >> 11);
    let check = with_state(object, on, |state| state.check_domain(account, id, claim, object.clock()))?;
    let Some(check) = check else { return Ok(()) };
    let proof = prove(object, &check).await;
    with_state(object, on, |state| state.domain_checked(account, &check, proof, object.clock()))
}

/// As `domains::check` of the edge: looks the record up, and claims the host.
async fn prove(object: &Object<AccountShell>, check: &Check) -> Proof {
    let (sim, places) = (&object.sim, &object.shell.places);
    sim.sleep(1 + sim.below(40)).await;
    if sim.chance(sim.faults().lost) {
        return Proof::Unknown;
    }
    let records = places.records.borrow().get(&check.host.record()).cloned().unwrap_or_default();
    let proof = check.proof(&Vec::from_iter(records));
    let (Proof::Proved, Some(message)) = (proof, check.claim_message(object.shell.id)) else { return proof };
    match places.call_host(&check.host, message).await {
        Some(SlugReply::Granted) => Proof::Proved,
        Some(SlugReply::Taken) => Proof::Taken,
        Some(SlugReply::Noted | SlugReply::Owner(_)) | None => Proof::Unknown,
    }
}

async fn perform(object: &Object<AccountShell>, on: &Instance<AccountShell>, task: &Task) -> bool {
    match task {
        Task::Slug(slug, message) => object.shell.places.call_slug(slug, *message).await.is_some(),
        Task::Snapshot { account, slug } => {
            let read = |page, number| {
                Ok::<_, Fenced>(object.rows(|rows| rows.contents.get(&(page, number)).cloned()))
            };
            let snapshot = match &on.memory.borrow().state {
                Some(state) => state.snapshot(*account, slug, read).unwrap_or_default(),
                None => return false,
            };
            let mut kv = object.shell.places.kv.borrow_mut();
            match snapshot {
                Some(snapshot) => drop(kv.insert(slug.clone(), snapshot)),
                None => drop(kv.remove(slug)),
            }
            true
        }
        Task::ConfigureSource { account, source } => {
            let found = on.memory.borrow().state.as_ref().and_then(|state| state.source(source).cloned());
            let message = match found {
                Some(source) => SourceMessage::Configure { account: *account, source },
                None => SourceMessage::Delete,
            };
            object.shell.places.call_source(*source, message).await.is_some()
        }
        Task::ServeDomain { account, host } => {
            let Some(state) = &on.memory.borrow().state else { return false };
            if let Some(site) = state.domain_snapshot(*account, host) {
                object.shell.places.sites.borrow_mut().insert(host.clone(), site);
            }
            true
        }
        Task::EndDomain { account, host, .. } => {
            let Some(state) = &on.memory.borrow().state else { return false };
            let mut sites = object.shell.places.sites.borrow_mut();
            match state.domain_snapshot(*account, host) {
                Some(site) => drop(sites.insert(host.clone(), site)),
                None => drop(sites.remove(host)),
            }
            true
        }
        Task::Host { account, host, claim } => {
            let message = SlugMessage::Cancel { owner: host_owner(*account), claim: *claim };
            object.shell.places.call_host(host, message).await.is_some()
        }
        _ => true,
    }
}

pub(super) fn arm(object: &Object<AccountShell>, on: &Instance<AccountShell>) -> Result<(), Fenced> {
    let mut memory = on.memory.borrow_mut();
    let next = memory.state.as_ref().and_then(Account::next_due);
    let Some(next) = next.filter(|next| memory.armed.is_none_or(|armed| *next < armed)) else {
        return Ok(());
    };
    memory.armed = Some(next);
    object.set_alarm(on, next)
}

pub(super) fn with_state<T>(
    object: &Object<AccountShell>,
    on: &Instance<AccountShell>,
    change: impl FnOnce(&mut Account) -> T,
) -> Result<T, Fenced> {
    let mut memory = on.memory.borrow_mut();
    let mut state = memory.state.take().unwrap_or_else(|| object.rows(load));
    let outcome = change(&mut state);
    object.commit(on, |rows| rows.state = Some(state.clone()))?;
    memory.state = Some(state);
    Ok(outcome)
}

/// Reads what is stored, as text.
pub(super) fn load(rows: &AccountRows) -> Account {
    let text = rows.state.as_ref().map(|state| serde_json::to_string(state).unwrap());
    text.map(|text| serde_json::from_str(&text).unwrap()).unwrap_or_default()
}

pub(super) fn step(
    object: &Object<AccountShell>,
    on: &Instance<AccountShell>,
    call: &Call,
) -> Result<Step, Fenced> {
    let step = with_state(object, on, |state| {
        let needs = state.needs(call);
        let get =
            |at: Option<(PageId, u64)>| at.and_then(|at| object.rows(|rows| rows.contents.get(&at).cloned()));
        let loaded = Loaded {
            content: get(needs.content),
            other: get(needs.other),
            live: get(needs.live),
            reply: needs.reply.and_then(|name| object.rows(|rows| rows.replies.get(&name).cloned())),
        };
        state.step(call, loaded, &DeniedHosts::default(), object.clock())
    })?;
    if let Step::Reply(_, writes) = &step {
        // Of the same commit: nothing is awaited between.
        let mut rows = object.rows_mut();
        for write in writes {
            match write.clone() {
                Write::PutRevision(page, number, content) => {
                    drop(rows.contents.insert((page, number), content))
                }
                Write::KeepRevisions(page, kept) => {
                    rows.contents.retain(|(other, number), _| *other != page || kept.contains(number));
                }
                Write::PutReply { name, stored, .. } => drop(rows.replies.insert(name, stored)),
                Write::Erase => (rows.contents.clear(), rows.replies.clear()).0,
            }
        }
    }
    arm(object, on)?;
    Ok(step)
}

/// As the account's object handles a call.
pub(super) async fn handle(
    object: Rc<Object<AccountShell>>,
    on: Rc<Instance<AccountShell>>,
    mut call: Call,
) -> Option<Decision> {
    loop {
        let (slug, message) = match step(&object, &on, &call).ok()? {
            Step::Reply(reply, _) => return Some(Decision::Reply(reply)),
            Step::Admit(admission) => return Some(Decision::Admit(admission)),
            Step::Check(check) => {
                call.proof = Some(prove(&object, &check).await);
                continue;
            }
            Step::Claim { slug, message } => (slug, message),
        };
        let outcome = match object.shell.places.call_slug(&slug, message).await {
            Some(SlugReply::Granted) => ClaimOutcome::Granted,
            Some(SlugReply::Taken) => {
                let _drawn = suggestions(&slug, &mut IdSource::new(call.seed));
                ClaimOutcome::Taken(Vec::new())
            }
            Some(SlugReply::Noted | SlugReply::Owner(_)) | None => ClaimOutcome::Unknown,
        };
        call.claim = Some(Claim { slug, outcome });
    }
}
