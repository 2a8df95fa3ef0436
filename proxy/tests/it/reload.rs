//! The pools are read again while calls go on.

use shared::tool::Tool;

use crate::support::{
    FakeTool, Manner,
    grant::{call, post},
    proxy::Setup,
    until,
};

#[tokio::test]
async fn sixty_reloads_under_load_fail_no_call() {
    let (one, two) = (FakeTool::start(Manner::Describe).await, FakeTool::start(Manner::Describe).await);
    let setups = [Setup::new().tool(Tool::Qr, &[&one]), Setup::new().tool(Tool::Qr, &[&two])];
    let proxy = setups[0].ready().await;
    for reload in 1..=60 {
        let (before, served) = if reload % 2 == 0 { (&two, &one) } else { (&one, &two) };
        let (old, new) = (before.calls(), served.calls());
        assert_eq!(proxy.send(post("/v1/qr/a", "{}")).await.status, 200);
        assert!(before.calls() > old && served.calls() == new);
        proxy.reload(&setups[reload % 2]);
        until("the other server is asked", || async {
            assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
            served.calls() > new
        })
        .await;
    }
}

#[tokio::test]
async fn a_file_with_a_fault_changes_nothing_and_is_reported() {
    let tool = FakeTool::start(Manner::Describe).await;
    let setup = Setup::new().tool(Tool::Qr, &[&tool]);
    let proxy = setup.ready().await;
    proxy.reload(&Setup::new().pool_line(Tool::Qr, "balanse = 1"));
    until("it is reported", || async {
        let refused = proxy.admin_get("/pools").await.json()["refused_configuration"].clone();
        refused.as_str().is_some_and(|text| text.contains("did you mean `balance`?"))
    })
    .await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    proxy.reload(&setup);
    until("it is taken", || async {
        proxy.admin_get("/pools").await.json()["refused_configuration"].is_null()
    })
    .await;
}
