//! The bindings of the worker. Their names appear only here.

use shared::{
    key::KeyEnv,
    origin::Origins,
    problem::{Code, Problem},
    request::MAX_BODY_BYTES,
    secret::{AdminSecret, MacKeys},
};
use wasm_bindgen::{JsCast, JsValue, prelude::wasm_bindgen};
use worker::{
    Env, KvStore, ObjectNamespace,
    js_sys::{Promise, Reflect},
    web_sys,
};

use crate::log;

#[wasm_bindgen]
extern "C" {
    /// A binding with a `fetch` of its own. `worker::Fetcher` returns a `worker::Response`, which every
    /// call would have to convert back.
    pub(crate) type OriginFetcher;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn fetch(this: &OriginFetcher, request: &web_sys::Request) -> Result<Promise, JsValue>;
}

/// The bindings of the worker, parsed and checked.
pub(crate) struct Bindings {
    /// KV namespace `KEYS`: key records.
    pub(crate) keys: KvStore,
    /// Durable Objects `METER`, one per key, named by its id.
    pub(crate) meter: ObjectNamespace,
    /// Durable Object `KEY_CHANGES`, one for all keys: the feed of key changes.
    pub(crate) key_changes: ObjectNamespace,
    /// Secret `KEY_SIGNING_SECRET`: signs keys.
    pub(crate) signing: MacKeys,
    /// Secret `GRANT_SECRET`: signs grants and the tokens of origins.
    pub(crate) grants: MacKeys,
    /// Secret `ADMIN_SECRET`.
    pub(crate) admin: AdminSecret,
    /// Variable `ORIGIN_URLS`: the proxies, best first.
    pub(crate) origins: Origins,
    /// Certificate binding `ORIGIN_CERT`. If it is bound, requests to origins use it, because it presents
    /// the edge's client certificate and the global fetch cannot.
    pub(crate) origin_cert: Option<OriginFetcher>,
    /// Variable `KEY_ENV`, `live` or `test`: the kind of keys to issue. Default `live`.
    pub(crate) key_env: KeyEnv,
    /// Variable `PUBLIC_URL`: the base URL in the OpenAPI document and the reference. By default the
    /// request's own.
    pub(crate) public_url: Option<String>,
    /// Variable `ALLOW_HTTP`: `1` accepts keys over plain HTTP, for development under another host name.
    pub(crate) http_allowed: bool,
    /// Variable `MAX_BODY_BYTES`: the largest body limit of any pool. Default 10 MiB.
    pub(crate) max_body: u64,
}

const KEYS: &str = "KEYS";
const MAX_BODY: &str = "MAX_BODY_BYTES";
const KEY_CHANGES: &str = "KEY_CHANGES";

/// Returns the KV namespace alone, for the Durable Objects.
///
/// # Errors
/// If it is not bound.
pub(crate) fn key_store(env: &Env) -> worker::Result<KvStore> {
    env.kv(KEYS)
}

/// Returns the feed of key changes alone, for the Durable Objects.
///
/// # Errors
/// If it is not bound.
pub(crate) fn key_changes(env: &Env) -> worker::Result<ObjectNamespace> {
    env.durable_object(KEY_CHANGES)
}

/// Returns the body limit alone, for requests that are refused before the other bindings are read.
pub(crate) fn max_body(env: &Env) -> u64 {
    let text = env.var(MAX_BODY).ok().map(|value| value.to_string());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(MAX_BODY_BYTES)
}

impl Bindings {
    /// Reads and checks all of them.
    ///
    /// # Errors
    /// `internal`, with one log line that names every fault and contains no secret.
    pub(crate) fn from_env(env: &Env) -> Result<Self, Problem> {
        let mut faults = Vec::new();
        match Self::read(env, &mut faults) {
            Some(bindings) if faults.is_empty() => Ok(bindings),
            _ => {
                log::misconfigured(&faults);
                Err(Problem::new(Code::Internal, "the gateway is not configured correctly"))
            }
        }
    }

    fn read(env: &Env, faults: &mut Vec<String>) -> Option<Self> {
        let mut read = Reader { env, faults };
        let keys = read.binding(KEYS, |env, _| key_store(env).map_err(|fault| fault.to_string()));
        let meter =
            read.binding("METER", |env, name| env.durable_object(name).map_err(|fault| fault.to_string()));
        let key_changes =
            read.binding(KEY_CHANGES, |env, _| key_changes(env).map_err(|fault| fault.to_string()));
        let signing = read.parsed("KEY_SIGNING_SECRET", MacKeys::parse);
        let grants = read.parsed("GRANT_SECRET", MacKeys::parse);
        let admin = read.parsed("ADMIN_SECRET", AdminSecret::new);
        let origins = read.parsed("ORIGIN_URLS", Origins::parse);
        let origin_cert = read.fetcher("ORIGIN_CERT");
        let key_env = read.optional("KEY_ENV", |text| match text {
            "live" => Ok(KeyEnv::Live),
            "test" => Ok(KeyEnv::Test),
            _ => Err("must be live or test"),
        });
        let max_body = read.optional(MAX_BODY, |text| text.parse().or(Err("is not a number of bytes")));
        let http_allowed = read.optional("ALLOW_HTTP", |text| match text {
            "1" => Ok(true),
            "0" => Ok(false),
            _ => Err("must be 1 or 0"),
        });
        Some(Self {
            keys: keys?,
            meter: meter?,
            key_changes: key_changes?,
            signing: signing?,
            grants: grants?,
            admin: admin?,
            origins: origins?,
            origin_cert,
            key_env: key_env.unwrap_or(KeyEnv::Live),
            public_url: read.text("PUBLIC_URL").map(|url| url.trim_end_matches('/').to_owned()),
            http_allowed: http_allowed.unwrap_or(false),
            max_body: max_body.unwrap_or(MAX_BODY_BYTES),
        })
    }
}

struct Reader<'a> {
    env: &'a Env,
    faults: &'a mut Vec<String>,
}

impl Reader<'_> {
    /// Returns a variable or secret, or `None` if it is empty or absent.
    fn text(&self, name: &str) -> Option<String> {
        self.env.var(name).ok().map(|value| value.to_string()).filter(|text| !text.trim().is_empty())
    }

    fn binding<T>(&mut self, name: &str, find: impl FnOnce(&Env, &str) -> Result<T, String>) -> Option<T> {
        find(self.env, name).map_err(|fault| self.faults.push(format!("{name}: {fault}"))).ok()
    }

    /// Returns the binding of this name if it has a `fetch` of its own.
    fn fetcher(&mut self, name: &str) -> Option<OriginFetcher> {
        let bound = Reflect::get(self.env, &name.into()).ok().filter(|value| !value.is_undefined())?;
        if Reflect::get(&bound, &"fetch".into()).is_ok_and(|fetch| fetch.is_function()) {
            return Some(bound.unchecked_into());
        }
        self.faults.push(format!("{name} is not a certificate binding"));
        None
    }

    fn parsed<T, E: ToString>(&mut self, name: &str, parse: impl FnOnce(&str) -> Result<T, E>) -> Option<T> {
        let text = self.text(name).unwrap_or_default();
        parse(&text).map_err(|fault| self.faults.push(format!("{name} {}", fault.to_string()))).ok()
    }

    fn optional<T>(&mut self, name: &str, parse: impl FnOnce(&str) -> Result<T, &'static str>) -> Option<T> {
        let text = self.text(name)?;
        parse(text.trim()).map_err(|fault| self.faults.push(format!("{name} {fault}"))).ok()
    }
}
