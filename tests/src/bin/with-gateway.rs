//! Runs a command against the real parts: `with-gateway (edge|edge-with-domains|direct) COMMAND [ARGUMENT…]`.
//!
//! The command finds in its environment: `GATEWAY_URL`, `GATEWAY_BOUNDARY` (`edge` or `direct`),
//! `ADMIN_SECRET`, `GATEWAY_KEY`, an Enterprise key with a limit that no test reaches, and
//! `TOOLS_CONTROL`, the address of the tools' control API. With domains of accounts the boundary is `edge`
//! too, and `RESOLVER_URL` is where the command sets the records of domains (`tests::resolver`). The
//! command's status is this program's.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a program of the tests fails by panicking"
)]

use std::{
    net::SocketAddr,
    process::{Command, ExitCode},
};

use serde_json::json;
use shared::policy::MAX_MINUTE_LIMIT;
use tempfile::TempDir;
use tests::{
    http::Request,
    keys::ADMIN_SECRET,
    proxy::{Proxy, ProxyConfig},
    resolver::Resolver,
    stack::{Stack, Tools},
};

/// The parts between a client and the demo tools.
enum Gateway {
    Edge(Stack, Option<Resolver>),
    Direct { proxy: Proxy, _state: TempDir, tools: Tools },
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(gateway), [_, program, rest @ ..]) =
        (arguments.first().and_then(|name| Gateway::start(name)), arguments.as_slice())
    else {
        eprintln!("usage: with-gateway (edge|edge-with-domains|direct) COMMAND [ARGUMENT…]");
        return ExitCode::from(2);
    };
    let status = Command::new(program)
        .args(rest)
        .env("GATEWAY_URL", format!("http://{}", gateway.addr()))
        .env("GATEWAY_BOUNDARY", gateway.boundary())
        .env("GATEWAY_KEY", issue(gateway.addr()))
        .env("ADMIN_SECRET", ADMIN_SECRET)
        .env("TOOLS_CONTROL", format!("http://{}", gateway.tools().control_addr()))
        .envs(gateway.resolver().map(|resolver| ("RESOLVER_URL", resolver.url())))
        .status()
        .unwrap_or_else(|error| panic!("cannot start {program}: {error}"));
    if !status.success() {
        eprintln!("what the gateway logged of failures, its last lines:\n{}", gateway.failures().join("\n"));
    }
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

impl Gateway {
    fn start(name: &str) -> Option<Self> {
        match name {
            "edge" => Some(Self::Edge(Stack::start(), None)),
            "edge-with-domains" => {
                let resolver = Resolver::start();
                let variables = resolver.variables();
                let stack = Stack::start_with(&variables.each_ref().map(String::as_str));
                Some(Self::Edge(stack, Some(resolver)))
            }
            "direct" => {
                let tools = Tools::start();
                let (proxy, state) = direct(&tools);
                Some(Self::Direct { proxy, _state: state, tools })
            }
            _ => None,
        }
    }

    const fn boundary(&self) -> &'static str {
        match self {
            Self::Edge(..) => "edge",
            Self::Direct { .. } => "direct",
        }
    }

    const fn resolver(&self) -> Option<&Resolver> {
        match self {
            Self::Edge(_, resolver) => resolver.as_ref(),
            Self::Direct { .. } => None,
        }
    }

    fn addr(&self) -> SocketAddr {
        match self {
            Self::Edge(stack, _) => stack.edge.addr,
            Self::Direct { proxy, .. } => proxy.listen,
        }
    }

    /// Returns the last lines of its log that name a failure: a client sees no cause of a response that never came.
    fn failures(&self) -> Vec<String> {
        const WORDS: [&str; 4] = ["error", "exception", "panic", "failed"];
        let output = match self {
            Self::Edge(stack, _) => stack.edge.output(),
            Self::Direct { proxy, .. } => proxy.output(),
        };
        let is_failure = |line: &&str| {
            let line = line.to_ascii_lowercase();
            WORDS.iter().any(|word| line.contains(word))
        };
        let mut lines: Vec<_> = output.lines().rev().filter(is_failure).take(60).map(str::to_owned).collect();
        lines.reverse();
        lines
    }

    fn tools(&self) -> &Tools {
        match self {
            Self::Edge(stack, _) => &stack.tools,
            Self::Direct { tools, .. } => tools,
        }
    }
}

/// Starts a proxy in direct mode that issues keys. Its clients share one address and are refused
/// often, so refusals per address are not limited.
fn direct(tools: &Tools) -> (Proxy, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("keys");
    let keys = format!(
        "direct = true\nsecret = \"${{KEY_SIGNING_SECRET}}\"\nadmin_secret = \"${{ADMIN_SECRET}}\"\nstate = {state:?}\n"
    );
    let config = ProxyConfig::for_tools(tools).section("keys", &keys);
    (config.line("clients", "refusals_per_second = 1000000").start_and_wait(), folder)
}

/// Issues the key that commands call with.
fn issue(gateway: SocketAddr) -> String {
    let body = json!({
        "email": "ada@example.com", "name": "Ada", "tier": "enterprise", "limits": { "minute": MAX_MINUTE_LIMIT },
        "admin_secret": ADMIN_SECRET,
    });
    let response = Request::post("/v1/keys/issue", &body).send(gateway);
    assert_eq!(response.status, 201, "{}", response.text());
    response.json()["key"].as_str().unwrap().to_owned()
}
