//! Domains of an account: added, proved, shown and given back.
//!
//! A host is claimed when its proof was found, and the claim is written down before, as a [`Task`] that takes
//! it back. So a claim that led to nothing is taken back whatever fails, as those of slugs are. What visitors
//! see is removed before the host is given back, so that no account removes what another one shows.

use serde_json::json;
use shared::{idempotency::BUSY_MS, key::KeyId, problem::Problem, response::Response, time::UnixMillis};

use super::{Account, Call, Operation, Task, domain_input::DomainInput};
use crate::{
    domains::{Check, Domain, DomainSnapshot, HostName, Proof},
    page::{DomainId, IdSource, PageId},
    pages_api::problems::{domain_exists, domain_limit_reached, domain_taken, domain_unknown, page_unknown},
    pages_api::slug::{Owner, SlugMessage},
    pages_api::suspension::page_suspended,
    policy,
};

impl Check {
    /// Returns what the records say.
    pub fn proof(&self, records: &[String]) -> Proof {
        if records.contains(&self.expected) { Proof::Proved } else { Proof::Missing }
    }

    /// Returns the message that claims the host; `None` if the account has it.
    pub fn claim_message(&self, account: KeyId) -> Option<SlugMessage> {
        Some(SlugMessage::Claim { owner: host_owner(account), claim: self.claim?, at: None })
    }
}

/// Returns the owner of a host: an account, whatever page it shows.
pub const fn host_owner(account: KeyId) -> Owner {
    Owner { account, page: PageId::new([0; 12]) }
}

impl Account {
    /// Begins the check of a domain, whose claim is taken back unless it leads to something. `None` if there
    /// is no such domain any more.
    pub fn check_domain(
        &mut self,
        account: KeyId,
        id: &DomainId,
        claim: u64,
        now: UnixMillis,
    ) -> Option<Check> {
        let domain = self.domains.iter_mut().find(|domain| domain.id == *id)?;
        let check = domain.begin_check(claim, now);
        if let Some(claim) = check.claim {
            let task = Task::Host { account, host: check.host.clone(), claim };
            // Written down before the claim is made. It takes the claim back, whatever happens.
            self.outbox.add(task, now.plus(BUSY_MS));
        }
        Some(check)
    }

    /// Returns the account of a domain; `None` if there is no such domain.
    pub fn domain_account(&self, id: &DomainId) -> Option<KeyId> {
        self.domain(id).ok().map(|domain| domain.account)
    }

    /// Takes in how a check ended.
    pub fn domain_checked(&mut self, account: KeyId, check: &Check, proof: Proof, now: UnixMillis) {
        let domain = self.domains.iter_mut().find(|domain| domain.id == check.id);
        if let (Some(claim), Proof::Proved, Some(domain)) = (check.claim, proof, domain)
            && !domain.is_active()
            // A check that took too long finds its claim about to be taken back.
            && self.outbox.holds(claim, now)
        {
            self.outbox.keep(claim);
            domain.claim = Some(claim);
        }
        if let Some(claim) = check.claim {
            self.outbox.take_back_now(claim, now);
        }
        if let Some(domain) = self.domains.iter_mut().find(|domain| domain.id == check.id)
            && let Some(claim) = domain.end_check(proof, now)
        {
            let host = domain.host.clone();
            self.outbox.add(Task::EndDomain { account, host, claim }, now);
        }
        self.serve_domains(account, now);
    }

    /// Returns what visitors of a host see; `None` if the account does not show it.
    pub fn domain_snapshot(&self, account: KeyId, host: &HostName) -> Option<DomainSnapshot> {
        let domain = self.domains.iter().find(|domain| domain.host == *host && domain.is_active())?;
        let slug = domain.page.and_then(|page| self.find(&page)).map(|page| page.slug.clone());
        Some(DomainSnapshot { account, slug })
    }

    /// Has visitors of each domain see the page that it shows now, under its slug of now.
    pub(super) fn serve_domains(&mut self, account: KeyId, now: UnixMillis) {
        for domain in self.domains.iter_mut().filter(|domain| domain.is_active()) {
            let page = domain.page.and_then(|id| self.pages.iter().find(|page| page.id == id));
            let slug = page.map(|page| page.slug.clone());
            // The page was deleted. The domain stays, for another page.
            if domain.page.is_some() && slug.is_none() {
                domain.page = None;
            }
            if domain.is_told && domain.served == slug {
                continue;
            }
            domain.is_told = true;
            domain.served = slug;
            self.outbox.add(Task::ServeDomain { account, host: domain.host.clone() }, now);
        }
    }

    /// Performs an operation on the domains.
    // 4 KB: kept out of `run`.
    #[inline(never)]
    pub(super) fn call_domains(
        &mut self,
        call: &Call,
        now: UnixMillis,
    ) -> Result<Response, super::Unfinished> {
        Ok(match &call.operation {
            Operation::AddDomain(input) => self.add_domain(call, input, now)?,
            Operation::ReadDomain(id) => self.read_domain(id)?,
            Operation::PatchDomain(id, page) => self.patch_domain(call, id, *page)?,
            Operation::DeleteDomain(id) => self.delete_domain(call, id, now)?,
            Operation::VerifyDomain(id) => self.verify_domain(call, id, now)?,
            _ => self.list_domains(),
        })
    }

    fn list_domains(&self) -> Response {
        let data: Vec<_> = self.domains.iter().map(Domain::describe).collect();
        Response::json(json!({ "object": "list", "data": data }).to_string())
    }

    fn read_domain(&self, id: &DomainId) -> Result<Response, Problem> {
        self.domain(id).map(|domain| Response::json(domain.describe().to_string()))
    }

    /// Adds a domain. It is checked immediately.
    fn add_domain(&mut self, call: &Call, input: &DomainInput, now: UnixMillis) -> Result<Response, Problem> {
        if self.suspended.is_some() {
            return Err(page_suspended());
        }
        if let Some(page) = &input.page {
            self.find(page).ok_or_else(|| page_unknown(page))?;
        }
        if self.domains.iter().any(|domain| domain.host == input.host) {
            return Err(domain_exists(&input.host));
        }
        if self.domains.len() >= policy::DOMAINS {
            return Err(domain_limit_reached());
        }
        let mut ids = IdSource::new(call.seed);
        let id = DomainId::new(ids.draw());
        // 192 random bits, which say nothing of the account.
        let token = [ids.draw(), ids.draw()].concat().iter().map(|byte| format!("{byte:02x}")).collect();
        let domain = Domain::added(
            (call.account, id),
            input.host.clone(),
            input.page,
            token,
            input.target.clone(),
            now,
        );
        let body = domain.describe().to_string();
        if call.dry_run {
            return Ok(Response::json(body));
        }
        self.domains.push(domain);
        Ok(Response::created(body, format!("/domains/{id}")))
    }

    fn patch_domain(
        &mut self,
        call: &Call,
        id: &DomainId,
        page: Option<PageId>,
    ) -> Result<Response, Problem> {
        if let Some(page) = &page {
            self.find(page).ok_or_else(|| page_unknown(page))?;
        }
        let mut changed = self.domain(id)?.clone();
        changed.page = page;
        let body = changed.describe().to_string();
        if let Some(domain) =
            self.domains.iter_mut().find(|domain| domain.id == *id).filter(|_| !call.dry_run)
        {
            *domain = changed;
        }
        Ok(Response::json(body))
    }

    fn delete_domain(&mut self, call: &Call, id: &DomainId, now: UnixMillis) -> Result<Response, Problem> {
        self.domain(id)?;
        if !call.dry_run {
            self.end_domains(call.account, |domain| domain.id == *id, now);
        }
        Ok(Response::no_content())
    }

    /// Checks a domain now.
    ///
    /// # Errors
    /// Returns `domain-taken` if another account has the host.
    fn verify_domain(
        &mut self,
        call: &Call,
        id: &DomainId,
        now: UnixMillis,
    ) -> Result<Response, super::Unfinished> {
        let domain = self.domain(id)?.clone();
        if call.dry_run {
            return Ok(Response::json(domain.describe().to_string()));
        }
        let Some(proof) = call.proof else { return Err(super::Unfinished::Check(*id)) };
        let claim = (!domain.is_active()).then_some(call.claim_number());
        let check = Check { id: *id, host: domain.host.clone(), expected: domain.proof(), claim };
        self.domain_checked(call.account, &check, proof, now);
        match (proof, self.domain(id)?) {
            (Proof::Taken, domain) if !domain.is_active() => Err(domain_taken(&domain.host).into()),
            (_, domain) => Ok(Response::json(domain.describe().to_string())),
        }
    }

    /// Gives all domains back.
    pub(super) fn drop_domains(&mut self, account: KeyId, now: UnixMillis) {
        self.end_domains(account, |_| true, now);
    }

    /// Returns the lines of the export about domains.
    pub(super) fn export_domains(&self) -> String {
        self.domains.iter().map(|domain| format!("{}\n", domain.describe())).collect()
    }

    fn end_domains(&mut self, account: KeyId, ends: impl Fn(&Domain) -> bool, now: UnixMillis) {
        for domain in self.domains.extract_if(.., |domain| ends(domain)) {
            if let Some(claim) = domain.claim {
                self.outbox.add(Task::EndDomain { account, host: domain.host, claim }, now);
            }
        }
    }

    fn domain(&self, id: &DomainId) -> Result<&Domain, Problem> {
        self.domains.iter().find(|domain| domain.id == *id).ok_or_else(|| domain_unknown(id))
    }
}
