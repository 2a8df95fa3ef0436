//! An edge that proves to proxies who it is, by the client certificate of the binding
//! `ORIGIN_CERT`.

use std::fs;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tests::{
    http::Request,
    proxy::ProxyConfig,
    stack::{Edge, Tools},
};

/// An authority's certificate, and a certificate with its key that it has signed.
struct Signed {
    authority: String,
    certificate: String,
    key: String,
}

fn sign(authority: &str, name: &str) -> Signed {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, authority);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&authority_key).unwrap().pem();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![name.to_owned()])
        .unwrap()
        .signed_by(&key, &Issuer::new(params, authority_key))
        .unwrap();
    Signed { authority, certificate: certificate.pem(), key: key.serialize_pem() }
}

#[test]
fn edge_presents_its_certificate_to_origins() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (server, client) = (sign("servers", "localhost"), sign("clients", "edge"));
    let stranger = sign("strangers", "edge");
    let tls = format!(
        "certificate = \"{}\"\nkey = \"{}\"\nclient_ca = \"{}\"\n",
        file("server.pem", &server.certificate),
        file("server.key", &server.key),
        file("clients.pem", &client.authority)
    );
    let tools = Tools::start();
    let proxy = ProxyConfig::for_tools(&tools).section("server.tls", &tls).start_and_wait();
    let url = format!("https://localhost:{}", proxy.listen.port());
    let trusted = file("servers.pem", &server.authority);
    let start = |name: &str, identity: &Signed| {
        let certificate = file(&format!("{name}.pem"), &identity.certificate);
        let key = file(&format!("{name}.key"), &identity.key);
        Edge::start_with_certificate(&url, &certificate, &key, &trusted)
    };

    let edge = start("edge", &client);
    let (key, _) = edge.issue("pro");
    let read = Request::get("/v1/idea/generate").key(&key).send(edge.addr);
    assert_eq!(read.status, 200, "{}", read.text());
    let post = Request::new("POST", "/v1/pdf/merge").key(&key).header("Content-Type", "application/json");
    let large = format!("\"{}\"", "x".repeat(200_000));
    for body in ["{}", large.as_str()] {
        let written = post.clone().body(body).send(edge.addr);
        assert_eq!(written.status, 200, "{}", written.text());
    }
    assert_eq!(Request::get("/v1/status").send(edge.addr).status, 200);

    let refused = start("stranger", &stranger);
    let (key, _) = refused.issue("pro");
    let response = Request::get("/v1/idea/generate").key(&key).send(refused.addr);
    assert_eq!((response.status, response.code().as_str()), (503, "tool-unavailable"));
    assert_eq!(Request::get("/v1/status").send(refused.addr).status, 503);
}
