//! The table of vectors, put to the proxy. What is a valid key to the edge is a grant to it.

use shared::{tier::Tier, tool::Tool};
use tests::{
    http::Response,
    keys,
    vector::{self, Boundary, Credential},
};

use crate::support::{
    FakeTool, Manner, Request, Signer,
    h2::{self, Http2},
    proxy::Setup,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_proxy_answers_every_vector_as_the_table_says() {
    let tool = FakeTool::start(Manner::Describe).await;
    let setup = Tool::ALL.into_iter().fold(Setup::new(), |setup, name| setup.tool(name, &[&tool]));
    let proxy = setup.ready().await;
    let key = "utg_live_of_nobody";
    tokio::task::block_in_place(|| {
        vector::check_all(Boundary::Proxy, |row| {
            let request = row.request(keys::present(row.request.key, key).as_deref());
            let grant = Signer::default().try_grant(&Request::new(&request.method, &request.target));
            match grant.filter(|_| row.request.key == Credential::Valid) {
                Some(grant) => request.header("X-Gateway-Grant", &grant).send(proxy.listen),
                None => request.send(proxy.listen),
            }
        });
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_proxy_in_direct_mode_answers_every_vector_as_the_edge_does() {
    let folder = tempfile::tempdir().unwrap();
    let tool = FakeTool::start(Manner::Describe).await;
    let setup = Setup::new().direct(&folder.path().join("keys"));
    let setup = setup.line("keys", "admin_secret = \"${ADMIN_SECRET}\"");
    let setup = Tool::ALL.into_iter().fold(setup, |setup, name| setup.tool(name, &[&tool]));
    let proxy = setup.ready().await;
    let (key, _) = keys::fresh(Tier::Enterprise);
    tokio::task::block_in_place(|| {
        vector::check_all(Boundary::Direct, |row| {
            row.request(keys::present(row.request.key, &key).as_deref()).send(proxy.listen)
        });
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http2_it_answers_every_vector_in_the_same_way() {
    let tool = FakeTool::start(Manner::Describe).await;
    let setup = Tool::ALL.into_iter().fold(Setup::new(), |setup, name| setup.tool(name, &[&tool]));
    let proxy = setup.line("clients", "h2c = true").ready().await;
    let client = Http2::plain(proxy.listen).await;
    let (mut put, mut others) = (0, Vec::new());
    tokio::task::block_in_place(|| {
        vector::check_all(Boundary::Proxy, |row| {
            let mut asked = row.request(keys::present(row.request.key, "utg_live_of_nobody").as_deref());
            let grant = Signer::default().try_grant(&Request::new(&asked.method, &asked.target));
            if let Some(grant) = grant.filter(|_| row.request.key == Credential::Valid) {
                asked = asked.header("X-Gateway-Grant", &grant);
            }
            let headers = asked.headers.iter();
            let request = headers
                .fold(Request::new(&asked.method, &asked.target), |request, (name, value)| {
                    request.header(name, value)
                });
            let request = request.bytes_of_body(&asked.body);
            if h2::head(&request).is_none() {
                others.push(row.name.clone());
                return asked.send(proxy.listen);
            }
            let answer = match tokio::runtime::Handle::current().block_on(client.try_send(&request)) {
                Ok(answer) => answer,
                // What HTTP/2 itself calls malformed ends its stream (RFC 9113, section 8.1.1).
                Err(error) if error.reason() == Some(::h2::Reason::PROTOCOL_ERROR) => {
                    others.push(row.name.clone());
                    return asked.send(proxy.listen);
                }
                Err(error) => panic!("{}: {error}", row.name),
            };
            put += 1;
            Response { status: answer.status, headers: answer.headers(), body: answer.body }
        });
    });
    assert!(put >= 25, "{put} were put, and these cannot be told in HTTP/2: {others:#?}");
}
