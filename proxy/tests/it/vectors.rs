//! The table of vectors, put to the proxy. What is a valid key to the edge is a grant to it.

use shared::{tier::Tier, tool::Tool};
use tests::{
    keys,
    vector::{self, Boundary, Credential},
};

use crate::support::{FakeTool, Manner, Request, Signer, proxy::Setup};

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
    let setup = Tool::ALL.into_iter().fold(setup, |setup, name| setup.tool(name, &[&tool]));
    let proxy = setup.ready().await;
    let (key, _) = keys::fresh(Tier::Enterprise);
    tokio::task::block_in_place(|| {
        vector::check_all(Boundary::Direct, |row| {
            row.request(keys::present(row.request.key, &key).as_deref()).send(proxy.listen)
        });
    });
}
