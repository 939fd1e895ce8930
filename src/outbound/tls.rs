//! TLS of outgoing calls: the certificate must match the host and be signed by an authority that the system
//! trusts.

use std::io;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use url::{Host, Url};

/// The name of HTTP/2 in the handshake (ALPN).
const HTTP_2: &[u8] = b"h2";

/// Reads the system's trust store on first use: many servers never make a call.
#[derive(Debug, Default)]
pub(crate) struct Tls(OnceCell<Arc<ClientConfig>>);

impl Tls {
    pub(crate) async fn connect(
        &self,
        url: &Url,
        stream: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let config = self.0.get_or_try_init(load).await?;
        TlsConnector::from(Arc::clone(config)).connect(server_name(url)?, stream).await
    }

    /// Fails if the server does not speak HTTP/2.
    pub(super) async fn connect_http2(
        &self,
        url: &Url,
        stream: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let mut config = ClientConfig::clone(self.0.get_or_try_init(load).await?);
        config.alpn_protocols = vec![HTTP_2.to_vec()];
        let connecting = TlsConnector::from(Arc::new(config)).connect(server_name(url)?, stream);
        let stream = connecting.await?;
        if stream.get_ref().1.alpn_protocol() != Some(HTTP_2) {
            return Err(io::Error::other("the server does not speak HTTP/2"));
        }
        Ok(stream)
    }
}

fn server_name(url: &Url) -> io::Result<ServerName<'static>> {
    match url.host() {
        Some(Host::Ipv4(address)) => Ok(ServerName::IpAddress(address.into())),
        Some(Host::Ipv6(address)) => Ok(ServerName::IpAddress(address.into())),
        Some(Host::Domain(name)) => {
            ServerName::try_from(name.trim_end_matches('.').to_owned()).map_err(io::Error::other)
        }
        None => Err(io::Error::other("an address without a host")),
    }
}

async fn load() -> io::Result<Arc<ClientConfig>> {
    let loaded = tokio::task::spawn_blocking(|| {
        let mut roots = RootCertStore::empty();
        // Unreadable certificates in the system's store are skipped.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(io::Error::other("the system has no root certificates"));
        }
        trusting(roots)
    });
    loaded.await.map_err(io::Error::other)?
}

fn trusting(roots: RootCertStore) -> io::Result<Arc<ClientConfig>> {
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use rustls::ServerConfig;
    use rustls::pki_types::PrivateKeyDer;
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::*;

    /// Whether a client that trusts `trusted` gets through to a server that holds `shown`.
    async fn handshake(host: &str, trusted: &Certified, shown: &Certified) -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let stream = TcpStream::connect(listener.local_addr()?).await?;
        let key = PrivateKeyDer::try_from(shown.signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![shown.cert.der().clone()], key)
            .unwrap();
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await?;
            TlsAcceptor::from(Arc::new(config)).accept(stream).await
        });
        let mut roots = RootCertStore::empty();
        roots.add(trusted.cert.der().clone()).unwrap();
        let tls = Tls(OnceCell::new_with(Some(trusting(roots)?)));
        let url = Url::parse(&format!("https://{host}/")).unwrap();
        tls.connect(&url, stream).await.map(|_| ())
    }

    type Certified = rcgen::CertifiedKey<rcgen::KeyPair>;

    #[tokio::test]
    async fn a_certificate_must_be_trusted_and_name_the_host() {
        let named = |name: &str| rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        let (hook, forged) = (named("hook.example"), named("hook.example"));
        handshake("hook.example", &hook, &hook).await.unwrap();
        assert!(handshake("other.example", &hook, &hook).await.is_err());
        assert!(handshake("127.0.0.1", &hook, &hook).await.is_err());
        assert!(handshake("hook.example", &hook, &forged).await.is_err());
    }
}
