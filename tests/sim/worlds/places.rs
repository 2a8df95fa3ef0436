//! The objects of a world, and how they reach each other.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use biolink::{
    domains::{DomainSnapshot, HostName},
    page::{Slug, SourceId},
    pages_api::{Call, Decision, SlugMessage, SlugReply, Snapshot},
    product_sync::SourceMessage,
};
use shared::key::KeyId;

use super::{
    account::{self, AccountRows, AccountShell},
    durable::Object,
    runtime::Sim,
    slug::{self, SlugShell},
    source::{self, SourceRows, SourceShell},
};

/// As the shells have them, in milliseconds.
const ACCOUNT_TIMEOUT_MS: u64 = 10_000;
const SLUG_TIMEOUT_MS: u64 = 2_000;
const SOURCE_TIMEOUT_MS: u64 = 15_000;

type Objects<K, S> = RefCell<BTreeMap<K, Rc<Object<S>>>>;

/// The objects of a world, made when they are first asked for, and KV and DNS.
pub(super) struct Places {
    pub(super) sim: Sim,
    accounts: Objects<KeyId, AccountShell>,
    pub(super) slugs: Objects<Slug, SlugShell>,
    sources: Objects<SourceId, SourceShell>,
    pub(super) kv: RefCell<BTreeMap<Slug, Snapshot>>,
    hosts: Objects<HostName, SlugShell>,
    pub(super) sites: RefCell<BTreeMap<HostName, DomainSnapshot>>,
    /// The `TXT` records of each name.
    pub(super) records: RefCell<BTreeMap<String, BTreeSet<String>>>,
}

impl Places {
    pub(super) fn new(sim: &Sim) -> Rc<Self> {
        Rc::new(Self {
            sim: sim.clone(),
            accounts: RefCell::default(),
            slugs: RefCell::default(),
            sources: RefCell::default(),
            kv: RefCell::default(),
            hosts: RefCell::default(),
            sites: RefCell::default(),
            records: RefCell::default(),
        })
    }

    pub(super) fn account(self: &Rc<Self>, id: KeyId) -> Rc<Object<AccountShell>> {
        let new = || {
            let shell = AccountShell { id, places: Rc::clone(self) };
            Object::new(&self.sim, format!("account {id}"), shell, AccountRows::default())
        };
        Rc::clone(self.accounts.borrow_mut().entry(id).or_insert_with(new))
    }

    pub(super) fn slug(&self, slug: &Slug) -> Rc<Object<SlugShell>> {
        let new = || Object::new(&self.sim, format!("slug {slug}"), SlugShell, None);
        Rc::clone(self.slugs.borrow_mut().entry(slug.clone()).or_insert_with(new))
    }

    pub(super) fn host(&self, host: &HostName) -> Rc<Object<SlugShell>> {
        let new = || Object::new(&self.sim, host.object_name(), SlugShell, None);
        Rc::clone(self.hosts.borrow_mut().entry(host.clone()).or_insert_with(new))
    }

    pub(super) fn source(self: &Rc<Self>, id: SourceId) -> Rc<Object<SourceShell>> {
        let new = || {
            let shell = SourceShell::new(Rc::clone(self));
            Object::new(&self.sim, "source".to_owned(), shell, SourceRows::default())
        };
        Rc::clone(self.sources.borrow_mut().entry(id).or_insert_with(new))
    }

    pub(super) async fn call_account(self: &Rc<Self>, call: Call) -> Option<Decision> {
        let object = self.account(call.account);
        let send = move || {
            let (object, call) = (Rc::clone(&object), call.clone());
            async move { object.handle(move |object, on| account::handle(object, on, call)).await }
        };
        self.sim.call(ACCOUNT_TIMEOUT_MS, send).await
    }

    pub(super) async fn call_slug(&self, slug: &Slug, message: SlugMessage) -> Option<SlugReply> {
        self.call_name(self.slug(slug), message).await
    }

    pub(super) async fn call_host(&self, host: &HostName, message: SlugMessage) -> Option<SlugReply> {
        self.call_name(self.host(host), message).await
    }

    async fn call_name(&self, object: Rc<Object<SlugShell>>, message: SlugMessage) -> Option<SlugReply> {
        let send = move || {
            let object = Rc::clone(&object);
            async move {
                object.handle(move |object, on| async move { slug::step(&object, &on, message).ok() }).await
            }
        };
        self.sim.call(SLUG_TIMEOUT_MS, send).await
    }

    pub(super) async fn call_source(self: &Rc<Self>, id: SourceId, message: SourceMessage) -> Option<()> {
        let object = self.source(id);
        let send = move || {
            let (object, message) = (Rc::clone(&object), message.clone());
            async move { object.handle(move |object, on| source::handle(object, on, message)).await }
        };
        self.sim.call(SOURCE_TIMEOUT_MS, send).await
    }
}
