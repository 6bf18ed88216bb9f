//! Connections to log collectors over TLS, by rustls with ring.
//!
//! Trusts the certificates of the system, or those of a PEM file alone. A connection ends with `close_notify`, as RFC 5425
//! asks for. Knows nothing of what is sent.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plan2geo_actors::ledger::forward::{Connect, connect};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::CliError;

/// Connections to an address, whose certificate must be of that host.
pub(super) fn connector(host: &str, address: &str, trusted: Option<&Path>) -> Result<Connect, CliError> {
    let roots = roots(trusted)?;
    let refuse = |error: rustls::Error| CliError::failed(format!("cannot use TLS: {error}"), "see the message");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = Arc::new(builder.map_err(refuse)?.with_root_certificates(roots).with_no_client_auth());
    let name = ServerName::try_from(host.to_owned()).map_err(|error| {
        CliError::usage(format!("`{host}` is no name of a host: {error}"), "for example tls://collector.example:6514")
    })?;
    let address = address.to_owned();
    Ok(Box::new(move || {
        let session = ClientConnection::new(Arc::clone(&config), name.clone()).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(session, connect(&address)?);
        // Here, so that a certificate that is not trusted is told before anything is sent.
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(Box::new(Tls(stream)))
    }))
}

fn roots(trusted: Option<&Path>) -> Result<RootCertStore, CliError> {
    let mut roots = RootCertStore::empty();
    let Some(path) = trusted else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(CliError::failed(
                "the system trusts no certificates that could be found",
                "name some with --ca",
            ));
        }
        return Ok(roots);
    };
    let unreadable = |error: &dyn std::fmt::Display| {
        CliError::usage(format!("cannot read certificates from {}: {error}", path.display()), "name a PEM file")
    };
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unreadable(&error))? {
        let certificate = certificate.map_err(|error| unreadable(&error))?;
        roots.add(certificate).map_err(|error| unreadable(&error))?;
    }
    if roots.is_empty() { Err(unreadable(&"there are none")) } else { Ok(roots) }
}

/// How long the other side has to end its side of a connection that is closed.
const LAST_WORDS: Duration = Duration::from_secs(2);

struct Tls(StreamOwned<ClientConnection, TcpStream>);

impl Read for Tls {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for Tls {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for Tls {
    fn drop(&mut self) {
        self.0.conn.send_close_notify();
        // Whether the other side still listens changes nothing.
        let _ = self.0.flush();
        let socket = &self.0.sock;
        let quiet = socket.shutdown(Shutdown::Write).and_then(|()| socket.set_read_timeout(Some(LAST_WORDS)));
        // What the other side has said meanwhile (session tickets) is taken first: a socket that is closed with something unread
        // is reset, and the last lines may be lost with it.
        let mut rest = [0; 4096];
        while quiet.is_ok() && matches!((&self.0.sock).read(&mut rest), Ok(read) if read > 0) {}
    }
}
