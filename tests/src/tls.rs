//! Certificate authorities, certificates, and TLS clients and terminators. Every key is generated
//! by the test that uses it.

use std::{
    fs, io,
    net::SocketAddr,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, UNIX_EPOCH},
};

use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tokio::{
    net::TcpStream,
    sync::Notify,
    task::{JoinHandle, JoinSet},
    time::timeout,
};
use tokio_rustls::{
    TlsAcceptor, TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
        version::{TLS12, TLS13},
    },
};

use crate::{
    Client, PATIENCE,
    runtime::{RUNTIME, listen},
};

/// A certificate authority.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub pem: String,
}

/// A certificate with its key, in PEM.
#[derive(Clone)]
pub struct Identity {
    pub certificate: String,
    pub key: String,
}

/// A temporary folder.
pub struct TempFiles(tempfile::TempDir);

/// A TLS client that trusts some authorities and may have a certificate.
pub struct TlsClient {
    roots: RootCertStore,
    identity: Option<Identity>,
    versions: Vec<&'static SupportedProtocolVersion>,
    alpn: Vec<Vec<u8>>,
}

/// A TLS terminator in front of a tool.
pub struct TlsTerminator {
    pub address: SocketAddr,
    acceptor: Arc<Mutex<TlsAcceptor>>,
    renewed: Arc<Notify>,
    protocols: &'static [&'static str],
    task: JoinHandle<()>,
}

/// The name of every server.
pub const NAME: &str = "gateway.test";

impl Authority {
    /// Generates an authority with its own name.
    pub fn generate() -> Self {
        // A certificate is looked up by the name of its issuer, so each authority has another one.
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        let name = format!("Authority {}", NEXT.fetch_add(1, Ordering::Relaxed));
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// Issues a certificate for a name.
    pub fn identity(&self, name: &str) -> Identity {
        self.sign(CertificateParams::new(vec![name.to_owned()]).unwrap())
    }

    /// Issues a certificate that is valid until the end of `year`.
    pub fn until(&self, name: &str, year: i32) -> Identity {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(year, 12, 31);
        self.sign(params)
    }

    /// Issues a certificate that expires in so many seconds.
    pub fn expiring(&self, name: &str, seconds: u64) -> Identity {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let expires = UNIX_EPOCH.elapsed().unwrap() + Duration::from_secs(seconds);
        params.not_after = rcgen::date_time_ymd(1970, 1, 1) + expires;
        self.sign(params)
    }

    fn sign(&self, params: CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

/// Returns an acceptor of TLS connections that offers these protocols by ALPN.
pub fn acceptor(identity: &Identity, protocols: &[&str]) -> TlsAcceptor {
    let chain = CertificateDer::pem_slice_iter(identity.certificate.as_bytes());
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.collect::<Result<_, _>>().unwrap(), key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

impl TlsTerminator {
    /// Starts a terminator in front of an HTTP/1.1 tool.
    pub async fn start(identity: &Identity, tool: SocketAddr) -> Self {
        Self::serve(identity, &["http/1.1"], move |stream| async move {
            // A tool that a test stopped refuses, and so does its terminator.
            let Ok(mut tool) = TcpStream::connect(tool).await else { return };
            let mut stream = stream;
            let _over = tokio::io::copy_bidirectional(&mut stream, &mut tool).await;
        })
        .await
    }

    /// Starts a terminator in front of two tools. ALPN selects the one for the protocol of the
    /// connection.
    pub async fn with_alpn(identity: &Identity, http2: SocketAddr, http1: SocketAddr) -> Self {
        Self::serve(identity, &["h2", "http/1.1"], move |stream| async move {
            let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            let mut tool = TcpStream::connect(if is_http2 { http2 } else { http1 }).await.expect("the tool");
            let mut stream = stream;
            let _over = tokio::io::copy_bidirectional(&mut stream, &mut tool).await;
        })
        .await
    }

    async fn serve<F: Future<Output = ()> + Send + 'static>(
        identity: &Identity,
        protocols: &'static [&'static str],
        converse: impl Fn(tokio_rustls::server::TlsStream<TcpStream>) -> F + Send + 'static,
    ) -> Self {
        let acceptor = Arc::new(Mutex::new(acceptor(identity, protocols)));
        let renewed = Arc::new(Notify::new());
        let (listener, address) = listen();
        let (current, closing) = (Arc::clone(&acceptor), Arc::clone(&renewed));
        let task = RUNTIME.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let accepted = tokio::select! {
                    accepted = listener.accept() => accepted,
                    () = closing.notified() => {
                        connections.abort_all();
                        continue;
                    }
                };
                let Ok((stream, _)) = accepted else { break };
                let accepting = current.lock().accept(stream);
                if let Ok(stream) = accepting.await {
                    connections.spawn(converse(stream));
                }
            }
        });
        Self { address, acceptor, renewed, protocols, task }
    }

    /// Presents another certificate from now on, and closes every connection.
    pub fn renew(&self, identity: &Identity) {
        *self.acceptor.lock() = acceptor(identity, self.protocols);
        self.renewed.notify_one();
    }
}

impl Drop for TlsTerminator {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl TempFiles {
    /// Creates an empty folder, which is deleted on drop.
    pub fn create() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file. Returns its path.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes a certificate and its key. Returns the lines of `[server.tls]` that name them.
    pub fn server(&self, identity: &Identity) -> String {
        let certificate = self.write("certificate.pem", &identity.certificate);
        let key = self.write("key.pem", &identity.key);
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        format!("certificate = {}\nkey = {}\n", quoted(&certificate), quoted(&key))
    }

    /// Writes the certificate of an authority. Returns the line that requires client certificates
    /// of it.
    pub fn client_ca(&self, authority: &Authority) -> String {
        format!("client_ca = {}\n", quoted(&self.write("clients.pem", &authority.pem)))
    }
}

pub fn quoted(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}

impl TlsClient {
    /// Returns a client that trusts one authority.
    pub fn new(authority: &Authority) -> Self {
        let client = Self {
            roots: RootCertStore::empty(),
            identity: None,
            versions: vec![&TLS13, &TLS12],
            alpn: Vec::new(),
        };
        client.and(authority)
    }

    /// Adds a trusted authority.
    pub fn and(mut self, authority: &Authority) -> Self {
        self.roots.add(CertificateDer::from_pem_slice(authority.pem.as_bytes()).unwrap()).unwrap();
        self
    }

    pub fn identity(self, identity: &Identity) -> Self {
        Self { identity: Some(identity.clone()), ..self }
    }

    pub fn version(self, version: &'static SupportedProtocolVersion) -> Self {
        Self { versions: vec![version], ..self }
    }

    pub fn alpn(self, protocol: &str) -> Self {
        Self { alpn: vec![protocol.as_bytes().to_vec()], ..self }
    }

    /// Returns the configuration of a connection. Connections with the same one resume each other's
    /// sessions.
    pub fn config(&self) -> Arc<ClientConfig> {
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&self.versions)
            .unwrap()
            .with_root_certificates(self.roots.clone());
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let chain = CertificateDer::pem_slice_iter(identity.certificate.as_bytes());
                let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
                builder.with_client_auth_cert(chain.collect::<Result<_, _>>().unwrap(), key).unwrap()
            }
        };
        config.alpn_protocols.clone_from(&self.alpn);
        Arc::new(config)
    }

    /// Connects. With TLS 1.3 the server may refuse the client certificate after the handshake is
    /// over for the client.
    pub async fn stream(&self, to: SocketAddr) -> io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(to).await.expect("a connection");
        let name = ServerName::try_from(NAME).unwrap();
        let made = TlsConnector::from(self.config()).connect(name, stream);
        timeout(PATIENCE, made).await.expect("a handshake in time")
    }

    pub async fn connect(&self, to: SocketAddr) -> Client {
        Client::over(self.stream(to).await.expect("a handshake"))
    }
}
