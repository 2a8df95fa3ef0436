//! Domains of accounts.

use super::*;
use crate::{codes, domains::DomainHosts, page::DomainId, pages_api::account::DomainInput};

const HOUR: u64 = 3_600_000;

fn hosts() -> DomainHosts {
    DomainHosts::new("customers.example.net", ["https://api.example.com"]).unwrap()
}

fn input(body: &Value) -> Result<DomainInput, Problem> {
    DomainInput::read(body.to_string().as_bytes(), &hosts())
}

fn host() -> HostName {
    HostName::parse("ada.example").unwrap()
}

impl World {
    /// Adds `ada.example` for a page. Returns its id, and the text that proves it.
    fn add_domain(&mut self, account: u8, page: Option<PageId>) -> (DomainId, String) {
        let body = json!({ "host": "ada.example", "page_id": page });
        let added = self.call(account, Operation::AddDomain(input(&body).unwrap()));
        assert_eq!((added.status, &added.body["status"]), (201, &json!("pending")), "{}", added.body);
        let domain = DomainId::parse(added.body["id"].as_str().unwrap()).unwrap();
        (domain, added.body["dns"][0]["value"].as_str().unwrap().to_owned())
    }

    fn verify(&mut self, account: u8, domain: DomainId) -> Got {
        self.call(account, Operation::VerifyDomain(domain))
    }

    fn slug_of_site(&self) -> Option<String> {
        self.sites.get(&host()).and_then(|site| site.slug.as_ref()).map(ToString::to_string)
    }

    fn published(&mut self, account: u8) -> PageId {
        let page = page_id(&self.create(account, ada()));
        self.edit(account, page, PageEdit::Publish);
        self.deliver(account);
        page
    }
}

#[test]
fn domain_is_proved_shown_changed_and_given_back() {
    let mut world = World::default();
    let page = world.published(1);
    let (domain, proof) = world.add_domain(1, Some(page));
    assert!(proof.starts_with("utg-verify=") && proof.len() > 40, "{proof}");
    let missing = world.verify(1, domain);
    assert_eq!((missing.status, &missing.body["last_check"]["result"]), (200, &json!("missing")));
    world.deliver(1);
    assert!(world.sites.is_empty() && world.hosts.values().all(|state| !state.is_owned()));

    world.records.push(proof);
    let proved = world.verify(1, domain);
    assert_eq!((proved.status, &proved.body["status"]), (200, &json!("active")), "{}", proved.body);
    world.deliver(1);
    assert_eq!(world.slug_of_site().as_deref(), Some("ada"));

    world.edit(1, page, PageEdit::Patch(r#"{"slug":"lovelace"}"#.to_owned()));
    world.deliver(1);
    assert_eq!(world.slug_of_site().as_deref(), Some("lovelace"), "a domain follows its page");
    let export = world.accounts[&id(1)].0.export_domains();
    assert!(export.contains("\"host\":\"ada.example\""), "{export}");

    assert_eq!(world.call(1, Operation::DeleteDomain(domain)).status, 204);
    world.deliver(1);
    assert!(world.sites.is_empty() && !world.hosts[&host()].is_owned());
    assert_eq!(world.verify(1, domain).body["code"], "domain-unknown");
}

#[test]
fn host_belongs_to_one_account_until_it_is_given_back() {
    let mut world = World::default();
    let (mine, my_proof) = world.add_domain(1, None);
    let (theirs, their_proof) = world.add_domain(2, None);
    world.records = vec![my_proof, their_proof];
    assert_eq!(world.verify(1, mine).body["status"], "active");
    let taken = world.verify(2, theirs);
    assert_eq!((taken.status, &taken.body["code"]), (409, &json!("domain-taken")));
    world.deliver(2);
    world.call(1, Operation::DeleteDomain(mine));
    assert_eq!(world.verify(2, theirs).status, 409, "not before the other one's visitors see nothing");
    world.deliver(1);
    assert_eq!(world.verify(2, theirs).body["status"], "active");
    world.deliver(2);
    world.deliver(1);
    assert_eq!(world.sites[&host()].account, id(2), "what is late removes nothing");
}

#[test]
fn alarm_proves_a_domain_and_takes_one_without_proof_away() {
    let mut world = World::default();
    let page = world.published(1);
    let (domain, proof) = world.add_domain(1, Some(page));
    world.records.push(proof);
    world.deliver(1);
    world.deliver(1);
    assert_eq!(world.slug_of_site().as_deref(), Some("ada"));
    world.records.clear();
    world.is_dns_down = true;
    for _ in 0..72 {
        world.now += HOUR;
        world.deliver(1);
    }
    assert_eq!(world.slug_of_site().as_deref(), Some("ada"), "a resolver that is down takes nothing away");
    world.is_dns_down = false;
    for _ in 0..26 {
        world.now += HOUR;
        world.deliver(1);
    }
    assert_eq!(world.slug_of_site(), None);
    assert!(!world.hosts[&host()].is_owned());
    let read = world.call(1, Operation::ReadDomain(domain)).body;
    assert_eq!((&read["status"], &read["last_check"]["result"]), (&json!("pending"), &json!("missing")));
}

#[test]
fn claim_of_a_check_that_is_lost_is_taken_back() {
    let mut world = World::default();
    let (domain, proof) = world.add_domain(1, None);
    world.records.push(proof);
    let call = world.call_of(1, Operation::VerifyDomain(domain));
    let Step::Check(check) = world.step(&call) else { panic!() };
    assert_eq!(world.prove(id(1), &check), Proof::Proved);
    assert!(world.hosts[&host()].is_owned(), "and the reply is lost");
    world.call(1, Operation::DeleteDomain(domain));
    world.now += HOUR;
    world.deliver(1);
    assert!(!world.hosts[&host()].is_owned());
}

#[test]
fn domain_without_a_page_or_account_shows_nothing() {
    let mut world = World::default();
    let page = world.published(1);
    let (domain, proof) = world.add_domain(1, Some(page));
    world.records.push(proof);
    world.verify(1, domain);
    world.deliver(1);
    world.call(1, Operation::PatchDomain(domain, None));
    world.deliver(1);
    assert_eq!((world.slug_of_site(), world.sites.len()), (None, 1));
    world.call(1, Operation::PatchDomain(domain, Some(page)));
    world.call(1, Operation::Delete(page));
    world.deliver(1);
    assert_eq!(world.slug_of_site(), None);
    assert_eq!(world.call(1, Operation::ReadDomain(domain)).body["page_id"], Value::Null);
    assert_eq!(world.call(1, Operation::PatchDomain(domain, Some(page))).body["code"], "page-unknown");
    let confirmation = Some(id(1).to_string());
    assert_eq!(world.call(1, Operation::Erase(confirmation)).status, 204);
    world.deliver(1);
    assert!(world.sites.is_empty() && !world.hosts[&host()].is_owned());
}

#[test]
fn domain_that_cannot_be_added_is_refused_with_its_reason() {
    for (host, expected) in [
        (json!("api.example.com"), "belongs to this service"),
        (json!("x.customers.example.net"), "belongs to this service"),
        (json!("127.0.0.1"), "IP address"),
        (json!("localhost"), "single label"),
        (json!("https://ada.example"), "alone"),
        (json!(7), "must be"),
        (Value::Null, "must be"),
    ] {
        let problem = input(&json!({ "host": host })).unwrap_err();
        let shown = problem.render(&RequestId([0; 16])).body;
        assert_eq!(problem.code(), codes::FIELDS_INVALID, "{host}");
        assert!(shown.contains(expected) && shown.contains("#/host"), "{host}: {shown}");
    }
    assert!(
        input(&json!({})).is_err() && input(&json!({ "host": "ada.example", "page_id": "pg_1" })).is_err()
    );
    let mut world = World::default();
    world.add_domain(1, None);
    let again = Operation::AddDomain(input(&json!({ "host": "Ada.example." })).unwrap());
    assert_eq!(world.call(1, again).body["code"], "domain-taken");
    for n in 1..policy::DOMAINS {
        let other = input(&json!({ "host": format!("d{n}.example") })).unwrap();
        assert_eq!(world.call(1, Operation::AddDomain(other)).status, 201);
    }
    let more = Operation::AddDomain(input(&json!({ "host": "more.example" })).unwrap());
    assert_eq!(world.call(1, more).body["code"], "domain-limit-reached");
}
