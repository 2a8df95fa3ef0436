//! Protocols towards the gateway.

use tests::tls::{Authority, TempFiles};

use crate::gateway::{DirectGateway, assert_passed, run};

const SHORT: [&str; 8] = ["--duration", "2s", "--rate", "50", "--keys", "2", "--expect", "rate>1/s"];

#[test]
fn http2_without_tls_passes() {
    let gateway = DirectGateway::start_with(|config| config.line("clients", "h2c = true"));
    let options = [&SHORT[..], &["--http2", "--connections", "2", "--expect", "books=balanced"]].concat();
    gateway.passes("steady", &options);
}

#[test]
fn https_passes_with_its_authority_only() {
    let (authority, files) = (Authority::generate(), TempFiles::create());
    let server = files.server(&authority.identity("localhost"));
    let gateway = DirectGateway::start_with(|config| config.section("server.tls", &server));
    let url = format!("https://localhost:{}", gateway.proxy.listen.port());
    let authority = files.write("authority.pem", &authority.pem);
    let trusted = ["--ca", authority.to_str().unwrap()];
    for trust in [&trusted[..], &["--insecure"]] {
        for protocol in [&[][..], &["--http2", "--connections", "2"]] {
            assert_passed("steady", &run(&url, "steady", &[&SHORT[..], trust, protocol].concat()));
        }
    }
    let output = run(&url, "steady", &SHORT);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("certificate"), "{stderr}");
}

#[test]
fn http2_without_tls_to_an_http1_server_is_error() {
    let gateway = DirectGateway::start();
    let output = gateway.run("steady", &[&SHORT[..], &["--http2"]].concat());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("does not speak HTTP/2 without TLS"), "{stderr}");
}
