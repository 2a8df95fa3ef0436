//! Domains of accounts: hosts are added, proved by records that come and go, and removed.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use biolink::{
    domains::{DomainHosts, HostName},
    page::DomainId,
    pages_api::{DomainInput, Operation, SlugMessage, SlugReply, SlugState, host_owner},
};
use serde_json::{Value, json};
use shared::key::KeyId;

use super::{
    account::{AccountShell, load},
    client,
    durable::Object,
    places::Places,
    runtime::Sim,
};

const ACCOUNTS: u8 = 2;
const HOSTS: [&str; 2] = ["ada.example", "links.example.com"];
const CALLS: u64 = 24;

/// Domains that are not proved are checked every five minutes.
pub(super) const CALM_AT: u64 = 1_200_000;
/// An alarm may be an hour late, and so may the check after it.
const END: u64 = CALM_AT + 3 * 3_600_000;

/// The domains whose removal a client knows of.
type Removed = Rc<RefCell<BTreeSet<DomainId>>>;

/// A domain as it is stored.
struct Stored {
    id: DomainId,
    host: HostName,
    is_active: bool,
    proof: String,
}

pub(super) fn run(sim: &Sim) {
    let places = Places::new(sim);
    sim.disturb();
    let accounts: Vec<_> = (1..=ACCOUNTS).map(|number| places.account(KeyId::new([number; 12]))).collect();
    let removed: Vec<Removed> = accounts.iter().map(|_| Removed::default()).collect();
    client::spawn(sim, CALLS, CALM_AT - 80_000, ACCOUNTS, |which| {
        let (sim, account, removed) = (sim.clone(), Rc::clone(&accounts[which]), Rc::clone(&removed[which]));
        async move { client(&sim, &account, &removed).await }
    });
    for second in (10..CALM_AT / 1_000).step_by(10) {
        sim.run_until(second * 1_000);
        check(sim, &accounts, &removed);
    }
    sim.run_until(END);
    check(sim, &accounts, &removed);
    for host in HOSTS {
        check_end(sim, &places, &accounts, &HostName::parse(host).unwrap());
    }
}

/// Changes a record, or calls once, and a second time if there is no reply.
async fn client(sim: &Sim, account: &Rc<Object<AccountShell>>, removed: &Removed) {
    let one_of = |count: usize| usize::try_from(sim.below(count as u64)).unwrap();
    let stored = domains(account);
    let operation = match (sim.below(10), stored.get(one_of(stored.len()))) {
        (0..=3, _) | (_, None) => {
            let hosts = DomainHosts::new("customers.example.net", ["api.example.org"]).unwrap();
            let body = json!({ "host": HOSTS[one_of(HOSTS.len())] }).to_string();
            Operation::AddDomain(DomainInput::read(body.as_bytes(), &hosts).unwrap())
        }
        (4..=6, Some(domain)) => Operation::VerifyDomain(domain.id),
        (7 | 8, Some(domain)) => Operation::DeleteDomain(domain.id),
        (_, Some(domain)) => {
            sim.note(|| format!("{}: the record of {} is gone", account.name, domain.host));
            account
                .shell
                .places
                .records
                .borrow_mut()
                .entry(domain.host.record())
                .or_default()
                .remove(&domain.proof);
            return;
        }
    };
    let path = matches!(operation, Operation::AddDomain(_)).then_some("/domains");
    let Some(response) = client::call(account, &operation, path).await else { return };
    let body: Value = serde_json::from_str(&response.body).unwrap_or_default();
    match (&operation, response.status) {
        (Operation::AddDomain(_), 201) if sim.chance(900) => {
            let [name, value] =
                ["name", "value"].map(|part| body["dns"][0][part].as_str().unwrap().to_owned());
            account.shell.places.records.borrow_mut().entry(name).or_default().insert(value);
        }
        (Operation::DeleteDomain(id), 204 | 404) => drop(removed.borrow_mut().insert(*id)),
        _ => {}
    }
}

/// Returns the domains that are stored.
fn domains(account: &Object<AccountShell>) -> Vec<Stored> {
    let state = account.rows(|rows| serde_json::to_value(&rows.state).unwrap());
    let domain = |domain: &Value| Stored {
        id: DomainId::parse(domain["id"].as_str().unwrap()).unwrap(),
        host: HostName::parse(domain["host"].as_str().unwrap()).unwrap(),
        is_active: !domain["claim"].is_null(),
        proof: format!("utg-verify={}", domain["token"].as_str().unwrap()),
    };
    state["domains"].as_array().map(|domains| domains.iter().map(domain).collect()).unwrap_or_default()
}

/// Checks what holds at any moment: a host is one account's, and a domain that was removed stays so.
fn check(sim: &Sim, accounts: &[Rc<Object<AccountShell>>], removed: &[Removed]) {
    let mut owners = BTreeMap::new();
    for (account, removed) in accounts.iter().zip(removed) {
        for domain in domains(account) {
            if removed.borrow().contains(&domain.id) {
                sim.violate(format!("{} of {} is there, and was removed", domain.host, account.name));
            }
            if domain.is_active
                && let Some(other) = owners.insert(domain.host.clone(), &account.name)
            {
                sim.violate(format!("{} is of {other} and of {}", domain.host, account.name));
            }
        }
    }
}

/// Checks what holds when nothing fails any more.
fn check_end(sim: &Sim, places: &Places, accounts: &[Rc<Object<AccountShell>>], host: &HostName) {
    let here =
        |account: &Object<AccountShell>| domains(account).into_iter().find(|domain| domain.host == *host);
    let is_active =
        |account: &&Rc<Object<AccountShell>>| here(account).is_some_and(|domain| domain.is_active);
    let holder = accounts.iter().find(is_active);
    let object = places.host(host);
    let found = object.rows(|row| row.clone().unwrap_or_default().handle(SlugMessage::Locate, sim.now()));
    let is_owned = object.rows(|row| row.as_ref().is_some_and(SlugState::is_owned));
    match holder {
        Some(account) if !is_owned || found != SlugReply::Owner(Some(host_owner(account.shell.id))) => {
            sim.violate(format!("{} has {host}, and its object says {found:?}", account.name));
        }
        None if is_owned => sim.violate(format!("{host} is taken, and no account has it")),
        _ => {}
    }
    let expected = holder.and_then(|account| account.rows(load).domain_snapshot(account.shell.id, host));
    if places.sites.borrow().get(host) != expected.as_ref() {
        sim.violate(format!(
            "visitors of {host} do not see what {:?} shows",
            holder.map(|account| &account.name)
        ));
    }
    let is_proved = |domain: &Stored| {
        places.records.borrow().get(&host.record()).is_some_and(|records| records.contains(&domain.proof))
    };
    for account in
        accounts.iter().filter(|account| holder.is_none() && here(account).as_ref().is_some_and(is_proved))
    {
        sim.violate(format!("{} has proved {host}, and nobody has it", account.name));
    }
}
