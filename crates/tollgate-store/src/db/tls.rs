//! A connection to PostgreSQL nobody listens to: `sslmode` of the URL is honoured, and a certificate is always checked.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use postgres::{
    Config, Socket,
    config::{Host, SslMode},
    tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream},
};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::StoreError;

/// How a URL wants to be connected.
pub(super) struct Wish {
    /// The rest of the URL, as the client reads it.
    pub(super) config: Config,
    /// How its server is found to be the right one; `None`: in the clear.
    pub(super) tls: Option<Connector>,
}

/// Takes what is about TLS out of the URL. Where it says nothing, a server on this machine is reached in the clear and
/// any other one only safely. `require` checks the certificate as `verify-full` does: encrypting to whoever answers
/// protects nothing.
pub(super) fn wish(url: &str) -> Result<Wish, StoreError> {
    let bad = |why: String| StoreError::BadPlace(why);
    let (rest, mode, root) = apart(url);
    let mut config: Config = rest.parse().map_err(|error: postgres::Error| bad(error.to_string()))?;
    let near = config.get_hosts().iter().all(is_near);
    let ssl = match mode.as_deref() {
        None if near => SslMode::Disable,
        Some("disable") => SslMode::Disable,
        Some("prefer") => SslMode::Prefer,
        None | Some("require" | "verify-ca" | "verify-full") => SslMode::Require,
        Some(other) => return Err(bad(format!("sslmode={other}"))),
    };
    config.ssl_mode(ssl);
    let tls = if ssl == SslMode::Disable { None } else { Some(Connector::new(root.as_deref())?) };
    Ok(Wish { config, tls })
}

/// The URL without `sslmode` and `sslrootcert`, and what they said.
fn apart(url: &str) -> (String, Option<String>, Option<String>) {
    let Some((base, query)) = url.split_once('?') else { return (url.to_owned(), None, None) };
    let (mut mode, mut root, mut rest) = (None, None, Vec::new());
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslmode", value)) => mode = Some(value.to_owned()),
            Some(("sslrootcert", value)) => root = Some(value.replace("%2F", "/").replace("%20", " ")),
            _ => rest.push(pair),
        }
    }
    let rest = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
    (rest, mode, root)
}

fn is_near(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        Host::Unix(_) => true,
    }
}

/// Checks who answers against the system's roots, or the one file the URL names.
#[derive(Clone)]
pub(super) struct Connector(Arc<ClientConfig>);

impl Connector {
    fn new(root: Option<&str>) -> Result<Self, StoreError> {
        let fault = |why: String| StoreError::Tls { place: "the postgres server".to_owned(), why };
        let mut roots = RootCertStore::empty();
        match root {
            Some(file) => {
                let found = CertificateDer::pem_file_iter(file)
                    .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                    .map_err(|error| fault(format!("{file} holds no certificate: {error}")))?;
                let (added, _) = roots.add_parsable_certificates(found);
                if added == 0 {
                    return Err(fault(format!("{file} holds no certificate")));
                }
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                if roots.is_empty() {
                    return Err(fault(
                        "this system trusts nobody (no root certificates were found)".to_owned(),
                    ));
                }
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| fault(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }
}

/// One connection in the making.
pub(super) struct Connecting(tokio_rustls::TlsConnector, ServerName<'static>);

/// A checked and encrypted connection.
pub(super) struct Stream(Box<tokio_rustls::client::TlsStream<Socket>>);

impl MakeTlsConnect<Socket> for Connector {
    type Stream = Stream;
    type TlsConnect = Connecting;
    type Error = rustls::pki_types::InvalidDnsNameError;

    fn make_tls_connect(&mut self, host: &str) -> Result<Connecting, Self::Error> {
        Ok(Connecting(self.0.clone().into(), ServerName::try_from(host.to_owned())?))
    }
}

impl TlsConnect<Socket> for Connecting {
    type Stream = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move { self.0.connect(self.1, socket).await.map(|stream| Stream(Box::new(stream))) })
    }
}

impl TlsStream for Stream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(cx)
    }
}
