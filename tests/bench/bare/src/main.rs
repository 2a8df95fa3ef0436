//! A Pingora proxy without any of our work: what `make bench-proxy` measures ours against.
//!
//! `bare LISTEN UPSTREAM default|tuned THREADS`: every request goes to the one upstream. With
//! Pingora's default settings, or `tuned` as our proxy sets Pingora up: connections stay on their
//! thread, no response modules, a keepalive pool that suffices.
#![allow(clippy::print_stderr, reason = "a program for the command line")]

use std::env;
use std::process::ExitCode;

use async_trait::async_trait;
use mimalloc::MiMalloc;
use pingora::Result;
use pingora::modules::http::HttpModules;
use pingora::proxy::{ProxyHttp, Session, http_proxy_service};
use pingora::server::configuration::ServerConf;
use pingora::server::{RunArgs, Server};
use pingora::upstreams::peer::HttpPeer;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

struct Bare {
    upstream: String,
    tuned: bool,
}

#[async_trait]
impl ProxyHttp for Bare {
    type CTX = ();

    fn new_ctx(&self) {}

    fn init_downstream_modules(&self, modules: &mut HttpModules) {
        if !self.tuned {
            modules.add_module(pingora::modules::http::compression::ResponseCompressionBuilder::enable(0));
        }
    }

    async fn upstream_peer(&self, _session: &mut Session, (): &mut ()) -> Result<Box<HttpPeer>> {
        Ok(Box::new(HttpPeer::new(&self.upstream, false, String::new())))
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [listen, upstream, settings, threads] = arguments.as_slice() else {
        eprintln!("bare LISTEN UPSTREAM default|tuned THREADS");
        return ExitCode::FAILURE;
    };
    let tuned = settings == "tuned";
    let conf = ServerConf { threads: threads.parse().unwrap_or(1), ..ServerConf::default() };
    let conf = if tuned {
        ServerConf { work_stealing: false, upstream_keepalive_pool_size: 4096, ..conf }
    } else {
        conf
    };
    let mut server = Server::new_with_opt_and_conf(None, conf);
    server.bootstrap();
    let mut service = http_proxy_service(&server.configuration, Bare { upstream: upstream.clone(), tuned });
    service.add_tcp(listen);
    server.add_service(service);
    server.run(RunArgs::default());
    ExitCode::SUCCESS
}
