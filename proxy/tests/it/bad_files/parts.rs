//! Certificates, authorities, secrets and prices in faulty files.

use std::fs;

use serde_json::json;
use shared::{tier::Tier, tool::Tool};

use super::{Place, make_fifo, remove, status, uses, write};
use tests::{
    FakeTool, Request, ToolBehavior,
    grant::call,
    keys::{self, ADMIN_SECRET, GRANT_SECRET, KEY_SIGNING_SECRET},
    proxy::{Proxy, ProxyConfig},
    tls::{Authority, NAME, TempFiles, TlsClient, TlsTerminator, quoted},
    until,
};

const TOKEN: &str = "admin-token-of-the-tests-0123456789";

/// Waits until exactly one file is reported, and its last good state stays in use.
async fn keeps(proxy: &Proxy, key: &str) {
    until(&format!("{key} is reported"), || async {
        let failed = proxy.config_status().await["failed_files"].clone();
        let parts = failed.as_array().unwrap();
        parts.len() == 1 && parts[0]["key"] == key && parts[0]["in_use"] == "last good"
    })
    .await;
    assert_eq!(proxy.metric("utg_config_failed_files").await, Some(1.0));
    assert_eq!(proxy.config_status().await["rejected"], json!(null));
}

async fn keeps_nothing_back(proxy: &Proxy) {
    until("every file is good", || async { proxy.config_status().await["failed_files"] == json!([]) }).await;
}

/// Spoils each of some files in turn, and calls `works` while it is bad.
async fn each_is_bad(
    (folder, proxy): (&TempFiles, &Proxy),
    files: &[(&str, &str)],
    works: impl AsyncFn(&str),
) {
    for (file, key) in files {
        let good = fs::read(folder.path(file)).unwrap();
        let spoils: [&dyn Fn(); 3] =
            [&|| {}, &|| make_fifo(&folder.path(file)), &|| fs::write(folder.path(file), "\n").unwrap()];
        for spoil in spoils {
            remove(&folder.path(file));
            spoil();
            keeps(proxy, key).await;
            works(key).await;
            remove(&folder.path(file));
            fs::write(folder.path(file), &good).unwrap();
            keeps_nothing_back(proxy).await;
        }
    }
}

/// Behind an edge: a pool with its own TLS and authorities, beside one with a file of servers.
struct Edge {
    place: Place,
    front: TlsTerminator,
    authority: Authority,
}

impl Edge {
    async fn new() -> Self {
        let (place, authority) = (Place::new().await, Authority::generate());
        let front = TlsTerminator::start(&authority.identity(NAME), place.qr.address).await;
        place.folder.write("grants", GRANT_SECRET);
        place.folder.write("token", TOKEN);
        place.folder.write("collector", "Bearer of-the-collector");
        place.folder.write("tools.pem", &authority.pem);
        place.folder.server(&authority.identity(NAME));
        Self { place, front, authority }
    }

    fn config(&self) -> ProxyConfig {
        let path = |name: &str| quoted(&self.place.folder.path(name));
        let pool = format!("tls = true\ntls_name = \"{NAME}\"\ntls_ca = {}", path("tools.pem"));
        let tls = format!("certificate = {}\nkey = {}\n", path("certificate.pem"), path("key.pem"));
        let traces = "endpoint = \"http://127.0.0.1:1\"";
        self.place
            .config()
            .section("grants", &format!("secret_file = {}\n", path("grants")))
            .line("server", &format!("admin_token_file = {}", path("token")))
            .line("server", &format!("admin_changes = {}", path("changes.json")))
            .section("server.tls", &tls)
            .section("tracing", &format!("{traces}\nauthorization_file = {}\n", path("collector")))
            .upstreams(Tool::Qr, &[&self.front.address.to_string()])
            .pool_line(Tool::Qr, &pool)
    }

    async fn status(&self, proxy: &Proxy, tool: Tool) -> u16 {
        let mut client = TlsClient::new(&self.authority).connect(proxy.listen).await;
        client.write(&call("GET", &format!("/v1/{tool}/a")).bytes()).await;
        client.response("GET").await.unwrap().status
    }

    /// Makes a change with the token. Returns the status.
    async fn change(&self, proxy: &Proxy, change: &str) -> u16 {
        let request = Request::new("POST", "/changes").header("Authorization", &format!("Bearer {TOKEN}"));
        proxy.admin_send(request.body(change)).await.status
    }
}

#[tokio::test]
async fn bad_certificate_authority_or_secret_keeps_its_last_good_state() {
    let edge = Edge::new().await;
    let proxy = edge.config().ready().await;
    let files = [
        ("grants", "grants.secret_file"),
        ("token", "server.admin_token_file"),
        ("collector", "tracing.authorization_file"),
        ("tools.pem", "pools.qr.tls_ca"),
        ("certificate.pem", "server.tls.certificate"),
        ("key.pem", "server.tls.key"),
    ];
    let turn = std::cell::Cell::new(0);
    each_is_bad((&edge.place.folder, &proxy), &files, async |key| {
        turn.set(turn.get() + 1);
        let server = &edge.place.pdf[turn.get() % 2];
        write(&edge.place.file(Tool::Pdf), server);
        uses(&proxy, Tool::Pdf, server).await;
        for tool in [Tool::Qr, Tool::Pdf] {
            assert_eq!(edge.status(&proxy, tool).await, 200, "{key}");
        }
        let weight =
            format!(r#"{{"do":{{"weight":{{"tool":"pdf","server":"{}","weight":2}}}}}}"#, server.address);
        assert_eq!(edge.change(&proxy, &weight).await, 200, "{key}");
    })
    .await;
    assert!(!proxy.output().contains(TOKEN) && !proxy.output().contains(GRANT_SECRET));
}

/// Of what a start cannot do without, it says so. Of all else, the other parts work.
#[tokio::test]
async fn start_with_a_bad_part_needs_only_what_every_call_needs() {
    let edge = Edge::new().await;
    for (file, key) in [
        ("grants", "grants.secret_file"),
        ("certificate.pem", "server.tls.certificate"),
        ("key.pem", "server.tls.key"),
    ] {
        let good = fs::read(edge.place.folder.path(file)).unwrap();
        edge.place.folder.write(file, "");
        let (status, stderr) = edge.config().run(&[]);
        assert_eq!(status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(key), "{stderr}");
        fs::write(edge.place.folder.path(file), good).unwrap();
    }
    for file in ["token", "collector", "tools.pem"] {
        edge.place.folder.write(file, "");
    }
    let proxy = edge.config().ready().await;
    assert_eq!(edge.status(&proxy, Tool::Pdf).await, 200);
    // Without authorities no certificate is trusted, and no call is sent in the clear.
    assert_eq!(edge.status(&proxy, Tool::Qr).await, 503);
    assert_eq!((edge.place.qr.calls(), proxy.metric("utg_config_failed_files").await), (0, Some(3.0)));
    assert_eq!(edge.change(&proxy, r#"{"do":{"off":{"tool":"pdf"}}}"#).await, 403);
    edge.place.folder.write("tools.pem", &edge.authority.pem);
    until("it is called", || async { edge.status(&proxy, Tool::Qr).await == 200 }).await;
}

#[tokio::test]
async fn restart_with_a_bad_file_of_authorities_or_token_has_what_was_stored() {
    let edge = Edge::new().await;
    let proxy = edge.config().ready().await;
    let off = r#"{"do":{"off":{"tool":"pdf"}},"persist":true}"#;
    assert_eq!(edge.change(&proxy, off).await, 200);
    let stored =
        || fs::read_to_string(edge.place.folder.path("proxy.toml.last-good.json")).unwrap_or_default();
    until("it is stored", || async { stored().contains("pools.qr.tls_ca") }).await;
    assert!(!stored().contains(TOKEN) && !stored().contains(GRANT_SECRET), "{}", stored());
    for file in ["token", "tools.pem"] {
        edge.place.folder.write(file, "");
    }
    drop(proxy);
    let proxy = edge.config().ready().await;
    assert_eq!(edge.status(&proxy, Tool::Qr).await, 200);
    assert_eq!(edge.status(&proxy, Tool::Pdf).await, 503, "it is still off");
}

#[tokio::test]
async fn bad_prices_or_secrets_in_direct_mode_keep_their_last_good_state() {
    let place = Place::new().await;
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec();
    let tool = FakeTool::start(ToolBehavior::Respond(response)).await;
    let path = |name: &str| quoted(&place.folder.path(name));
    place.folder.write("signing", KEY_SIGNING_SECRET);
    place.folder.write("admin", ADMIN_SECRET);
    place.folder.write("prices", "[qr]\na = 7\n");
    let keys = format!("secret_file = {}\nadmin_secret_file = {}\n", path("signing"), path("admin"));
    let config = || {
        let direct = format!("direct = true\nbehind_tls = true\nstate = {}\n{keys}", path("state"));
        let config = place.config().section("keys", &direct).tool(Tool::Qr, &[&tool]);
        config.section("limits", &format!("prices = {}\n", path("prices")))
    };
    let proxy = config().ready().await;
    let issue = async |proxy: &Proxy| {
        let request =
            Request::new("POST", "/v1/keys/issue").header("Authorization", &format!("Bearer {ADMIN_SECRET}"));
        let body = json!({ "email": "a@example.com", "name": "A", "tier": "pro", "limits": { "units": { "day": 1_000 } } })
            .to_string();
        proxy.send(request.header("Content-Type", "application/json").body(body)).await
    };
    let with_key = |target: &str, key: &str| Request::new("GET", target).header("X-API-Key", key);
    let units = async |proxy: &Proxy| {
        let issued = issue(proxy).await;
        assert_eq!(issued.status, 201, "{issued:?}");
        let key = issued.json()["key"].as_str().unwrap().to_owned();
        assert_eq!(proxy.send(with_key("/v1/qr/a", &key)).await.status, 200);
        proxy.send(with_key("/v1/keys/me", &key)).await.json()["usage"]["units"]["day"]["used"].clone()
    };
    let files =
        [("signing", "keys.secret_file"), ("admin", "keys.admin_secret_file"), ("prices", "limits.prices")];
    // Prices that are empty are good.
    each_is_bad((&place.folder, &proxy), &files[..2], async |key| {
        assert_eq!(units(&proxy).await, 7, "{key}");
        let (key, _) = keys::fresh(Tier::Pro);
        assert_eq!(proxy.send(with_key("/v1/pdf/a", &key)).await.status, 200);
    })
    .await;
    place.folder.write("prices", "[qr]\na = -1\n");
    keeps(&proxy, "limits.prices").await;
    assert_eq!(units(&proxy).await, 7);
    drop(proxy);
    let proxy = config().ready().await;
    assert_eq!(units(&proxy).await, 7, "a restart has them");
    drop(proxy);
    // Without any prices every call would cost nothing.
    remove(&place.folder.path("proxy.toml.last-good.json"));
    let (status_of_start, stderr) = config().run(&[]);
    assert_eq!(status_of_start.code(), Some(2), "{stderr}");
    assert!(stderr.contains("limits.prices"), "{stderr}");
    // Without the admin secret no key is issued, and keys work.
    place.folder.write("prices", "[qr]\na = 7\n");
    place.folder.write("admin", "");
    let proxy = config().ready().await;
    assert_ne!(issue(&proxy).await.status, 201);
    let (key, _) = keys::fresh(Tier::Pro);
    assert_eq!(proxy.send(with_key("/v1/pdf/a", &key)).await.status, 200);
    assert_ne!(status(&proxy, Tool::Pdf).await, 200, "a grant is no key");
}
