//! Authorities, certificates and clients that speak TLS. Every key is made for the test that uses it.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tokio::{
    net::{TcpListener, TcpStream},
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

use super::{Client, PATIENCE};

/// Who signs certificates.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) pem: String,
}

/// A certificate with its key, in PEM.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// Files that are gone with this.
pub(crate) struct Folder(tempfile::TempDir);

/// A client that trusts some authorities, and may have a certificate.
pub(crate) struct Visitor {
    roots: RootCertStore,
    identity: Option<Identity>,
    versions: Vec<&'static SupportedProtocolVersion>,
    alpn: Vec<Vec<u8>>,
}

/// A server that speaks TLS before a tool that does not.
pub(crate) struct Front {
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

/// What every server here is called.
pub(crate) const NAME: &str = "gateway.test";

impl Authority {
    pub(crate) fn new() -> Self {
        // Of another name than any other: a certificate names its issuer, and is looked up by that.
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        let name = format!("Authority {}", NEXT.fetch_add(1, Ordering::Relaxed));
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate for a name.
    pub(crate) fn identity(&self, name: &str) -> Identity {
        self.sign(CertificateParams::new(vec![name.to_owned()]).unwrap())
    }

    /// A certificate that is good until the end of a year.
    pub(crate) fn until(&self, name: &str, year: i32) -> Identity {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(year, 12, 31);
        self.sign(params)
    }

    fn sign(&self, params: CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

/// What makes connections from clients safe, and takes these protocols.
pub(crate) fn acceptor(identity: &Identity, protocols: &[&str]) -> TlsAcceptor {
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

impl Front {
    /// Before a tool.
    pub(crate) async fn start(identity: &Identity, tool: SocketAddr) -> Self {
        Self::serve(identity, &["http/1.1"], move |stream| async move {
            let (mut stream, mut tool) = (stream, TcpStream::connect(tool).await.expect("the tool"));
            let _over = tokio::io::copy_bidirectional(&mut stream, &mut tool).await;
        })
        .await
    }

    /// Before two, of whom one speaks HTTP/2: the client chooses, if it can.
    pub(crate) async fn of_both(identity: &Identity, http2: SocketAddr, http1: SocketAddr) -> Self {
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
        protocols: &[&str],
        converse: impl Fn(tokio_rustls::server::TlsStream<TcpStream>) -> F + Send + 'static,
    ) -> Self {
        let acceptor = acceptor(identity, protocols);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                if let Ok(stream) = acceptor.accept(stream).await {
                    connections.spawn(converse(stream));
                }
            }
        });
        Self { address, task }
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file; its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Writes a certificate and its key; the section that names them.
    pub(crate) fn server(&self, identity: &Identity) -> String {
        let certificate = self.write("certificate.pem", &identity.certificate);
        let key = self.write("key.pem", &identity.key);
        format!("certificate = {}\nkey = {}\n", quoted(&certificate), quoted(&key))
    }

    /// The line that lets in only whom an authority knows.
    pub(crate) fn client_ca(&self, authority: &Authority) -> String {
        format!("client_ca = {}\n", quoted(&self.write("clients.pem", &authority.pem)))
    }
}

pub(crate) fn quoted(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}

impl Visitor {
    /// Trusts one authority.
    pub(crate) fn new(authority: &Authority) -> Self {
        let nobody = RootCertStore::empty();
        let visitor =
            Self { roots: nobody, identity: None, versions: vec![&TLS13, &TLS12], alpn: Vec::new() };
        visitor.and(authority)
    }

    /// Trusts another one too.
    pub(crate) fn and(mut self, authority: &Authority) -> Self {
        self.roots.add(CertificateDer::from_pem_slice(authority.pem.as_bytes()).unwrap()).unwrap();
        self
    }

    pub(crate) fn identity(self, identity: &Identity) -> Self {
        Self { identity: Some(identity.clone()), ..self }
    }

    pub(crate) fn version(self, version: &'static SupportedProtocolVersion) -> Self {
        Self { versions: vec![version], ..self }
    }

    pub(crate) fn alpn(self, protocol: &str) -> Self {
        Self { alpn: vec![protocol.as_bytes().to_vec()], ..self }
    }

    /// What it connects with. Connections of one of these take up sessions of each other.
    pub(crate) fn config(&self) -> Arc<ClientConfig> {
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

    /// The connection after its handshake, as far as this side is concerned: with TLS 1.3 the server may still say no.
    pub(crate) async fn stream(&self, to: SocketAddr) -> io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(to).await.expect("a connection");
        let name = ServerName::try_from(NAME).unwrap();
        let made = TlsConnector::from(self.config()).connect(name, stream);
        timeout(PATIENCE, made).await.expect("a handshake in time")
    }

    pub(crate) async fn connect(&self, to: SocketAddr) -> Client {
        Client::over(self.stream(to).await.expect("a handshake"))
    }
}
