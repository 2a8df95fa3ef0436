//! Connections to Valkey or Redis: to one server, to the master that Sentinels name, or to a cluster.

pub mod probe;

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join_all;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::sentinel::{SentinelClientBuilder, SentinelServerType};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo as _,
    Pipeline, RedisConnectionInfo, RedisError, ServerErrorKind, TlsCertificates, TlsMode, Value,
    from_redis_value,
};
use tokio_rustls::rustls::crypto::ring;

use config::{ValkeyConfig, ValkeyKind};

/// Maximum time to connect, and to wait for the reply to one pipeline. Calls wait for up to 3 s.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(1);

/// A connection, on which commands are sent in pipelines. Several may be in flight on its copies.
#[derive(Clone)]
pub(crate) enum Connection {
    /// To one server.
    One(MultiplexedConnection),
    /// To the nodes of a cluster.
    Cluster(ClusterConnection),
}

/// The results of a command of one key, and of the one after it.
pub(crate) type KeyReply = (Result<Value, RedisError>, Option<Value>);

impl Connection {
    /// Connects as the configuration says.
    pub(crate) async fn open(config: &ValkeyConfig) -> Result<Self, RedisError> {
        install_crypto(config);
        match &config.kind {
            ValkeyKind::Single => {
                let mut failure = None;
                for server in &config.servers {
                    match connect_to_primary(config, server).await {
                        Ok(connection) => return Ok(Self::One(connection)),
                        Err(error) => failure = Some(error),
                    }
                }
                Err(failure
                    .unwrap_or_else(|| (ErrorKind::InvalidClientConfig, "no server is configured").into()))
            }
            ValkeyKind::Sentinel { master } => {
                let addresses = infos(config)?.into_iter().map(|info| info.addr().clone());
                let mut builder = SentinelClientBuilder::new(addresses, master, SentinelServerType::Master)?;
                if config.tls {
                    builder = builder
                        .set_client_to_redis_tls_mode(TlsMode::Secure)
                        .set_client_to_redis_certificates(certificates(config))
                        .set_client_to_sentinel_certificates(certificates(config));
                }
                if let Some(user) = &config.user {
                    builder = builder.set_client_to_redis_username(user);
                }
                if let Some(password) = &config.password {
                    builder = builder.set_client_to_redis_password(password.reveal());
                }
                let mut client = builder.build()?;
                Ok(Self::One(client.get_async_connection_with_config(&timeouts(TIMEOUT)).await?))
            }
            ValkeyKind::Cluster => {
                let mut builder = ClusterClient::builder(infos(config)?)
                    .connection_timeout(TIMEOUT)
                    .response_timeout(TIMEOUT)
                    // With redirections and retries, each of them would have the whole timeout
                    // otherwise.
                    .overall_response_timeout(Some(TIMEOUT));
                if config.tls {
                    builder = builder.tls(TlsMode::Secure).certs(certificates(config));
                }
                Ok(Self::Cluster(builder.build()?.get_async_connection().await?))
            }
        }
    }

    /// Sends one command for each key, and then one more. A cluster gets one pipeline for each key, any
    /// other server one for all.
    ///
    /// # Errors
    /// If a server does not reply.
    pub(crate) async fn run(
        &mut self,
        commands: Vec<Cmd>,
        after: Option<Cmd>,
    ) -> Result<Vec<KeyReply>, RedisError> {
        match self {
            Self::One(connection) => pipeline(connection, commands, after).await,
            Self::Cluster(connection) => {
                let sent = commands.into_iter().map(|command| {
                    let (mut connection, after) = (connection.clone(), after.clone());
                    async move { pipeline(&mut connection, vec![command], after).await }
                });
                let replies = join_all(sent).await.into_iter().map(|reply| match reply {
                    Ok(mut replies) => {
                        replies.pop().ok_or_else(|| (ErrorKind::UnexpectedReturnType, "no reply").into())
                    }
                    // One node may be away while others serve.
                    Err(error) => Ok((Err(error), None)),
                });
                replies.collect()
            }
        }
    }
}

async fn pipeline(
    connection: &mut impl ConnectionLike,
    commands: Vec<Cmd>,
    after: Option<Cmd>,
) -> Result<Vec<KeyReply>, RedisError> {
    let has_after = after.is_some();
    let mut pipeline = Pipeline::with_capacity(commands.len() + 1);
    for command in commands.into_iter().chain(after) {
        pipeline.add_command(command);
    }
    let mut replies: Vec<Result<Value, RedisError>> =
        pipeline.ignore_errors().query_async(connection).await?;
    // A failed `WAIT` or `TIME` fails them all: without it, no reply can be trusted.
    let after = if has_after { replies.pop().transpose()? } else { None };
    Ok(replies.into_iter().map(|reply| (reply, after.clone())).collect())
}

/// Returns the name of a value that never exists.
pub(crate) fn unused_key(config: &ValkeyConfig) -> String {
    format!("{}:probe", config.prefix)
}

/// Returns an error as one line for the log. That of a server that speaks another protocol has several.
pub(crate) fn line(error: &RedisError) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns true if a server refuses who the proxy is, or what its user may do.
pub(crate) fn is_refused(error: &RedisError) -> bool {
    let is_denied = error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm);
    is_denied || error.kind() == ErrorKind::AuthenticationFailed || error.code() == Some("NOAUTH")
}

/// Connects to one server of several, unless it is a replica.
async fn connect_to_primary(
    config: &ValkeyConfig,
    server: &(String, u16),
) -> Result<MultiplexedConnection, RedisError> {
    let mut connection = connect(config, server, user(config), TIMEOUT).await?;
    if config.servers.len() > 1 {
        // Needs no permission. What does not know it stands in front of a primary.
        let hello: Result<HashMap<String, Value>, _> = redis::cmd("HELLO").query_async(&mut connection).await;
        let role = hello.ok().and_then(|mut hello| from_redis_value::<String>(hello.remove("role")?).ok());
        if role.is_some_and(|role| role == "replica") {
            return Err((ErrorKind::InvalidClientConfig, "the server is a replica").into());
        }
    }
    Ok(connection)
}

/// Connects to one server. `timeout` is that of connecting, and of each reply.
async fn connect(
    config: &ValkeyConfig,
    server: &(String, u16),
    user: RedisConnectionInfo,
    timeout: Duration,
) -> Result<MultiplexedConnection, RedisError> {
    let info = info(config, server, user)?;
    let client = match config.tls {
        true => Client::build_with_tls(info, certificates(config))?,
        false => Client::open(info)?,
    };
    client.get_multiplexed_async_connection_with_config(&timeouts(timeout)).await
}

fn timeouts(timeout: Duration) -> AsyncConnectionConfig {
    AsyncConnectionConfig::new().set_connection_timeout(Some(timeout)).set_response_timeout(Some(timeout))
}

/// Installs what TLS is computed with. Has no effect from the second time on.
fn install_crypto(config: &ValkeyConfig) {
    if config.tls {
        let _installed = ring::default_provider().install_default();
    }
}

/// Returns whom to connect as.
fn user(config: &ValkeyConfig) -> RedisConnectionInfo {
    let mut user = RedisConnectionInfo::default();
    if let Some(name) = &config.user {
        user = user.set_username(name);
    }
    if let Some(password) = &config.password {
        user = user.set_password(password.reveal());
    }
    user
}

/// Returns where to connect to all servers, and as whom.
fn infos(config: &ValkeyConfig) -> Result<Vec<ConnectionInfo>, RedisError> {
    config.servers.iter().map(|server| info(config, server, user(config))).collect()
}

fn info(
    config: &ValkeyConfig,
    (host, port): &(String, u16),
    user: RedisConnectionInfo,
) -> Result<ConnectionInfo, RedisError> {
    let address = match config.tls {
        true => ConnectionAddr::TcpTls { host: host.clone(), port: *port, insecure: false, tls_params: None },
        false => ConnectionAddr::Tcp(host.clone(), *port),
    };
    Ok(address.into_connection_info()?.set_redis_settings(user))
}

/// Returns the authorities that the servers' certificates must come from.
fn certificates(config: &ValkeyConfig) -> TlsCertificates {
    TlsCertificates { client_tls: None, root_cert: config.tls_ca.clone() }
}
