//! `audit forward` over TLS, to a collector of the test's own with a certificate of the test's own.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::support::{Folder, dxf_rectangle};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tls").join(name)
}

/// Takes one connection and gives all that came over it; answers what `answer` says once it has seen the end of a head.
fn collector(answer: Option<&'static str>) -> (u16, JoinHandle<std::io::Result<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let certificates = CertificateDer::pem_file_iter(data("cert.pem")).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(data("key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_no_client_auth().with_single_cert(certificates, key).unwrap());
    let taking = std::thread::spawn(move || {
        let (socket, _) = listener.accept()?;
        let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), socket);
        let mut bytes = Vec::new();
        let Some(answer) = answer else {
            // Only a connection that was closed as TLS demands ends without an error.
            stream.read_to_end(&mut bytes)?;
            return Ok(bytes);
        };
        let mut chunk = [0; 4096];
        loop {
            let read = stream.read(&mut chunk)?;
            bytes.extend_from_slice(&chunk[..read]);
            let text = String::from_utf8_lossy(&bytes);
            let length = text.split("Content-Length: ").nth(1).and_then(|rest| rest.split("\r\n").next()?.parse().ok());
            let body = text.split("\r\n\r\n").nth(1).map(str::len);
            if read == 0 || (body.is_some() && body == length) {
                break;
            }
        }
        stream.write_all(answer.as_bytes())?;
        stream.flush()?;
        Ok(bytes)
    });
    (port, taking)
}

fn batch() -> Folder {
    let folder = Folder::new();
    folder.write("plans/a.dxf", dxf_rectangle(4.0, 3.0));
    folder.write("plans/b.dxf", dxf_rectangle(5.0, 3.0));
    folder.write("plans/broken.dxf", "no drawing");
    folder.write("c.toml", "[source]\nlocation = \"plans\"\n[output]\nlocation = \"out\"\n");
    assert_eq!(folder.run(["run", "c.toml"]).code, 3);
    folder
}

// R12, R59: over TLS, framed by octet counts, each line once, the connection closed as RFC 5425 asks for.
#[test]
fn lines_go_to_a_collector_over_tls() {
    let folder = batch();
    let (port, taking) = collector(None);
    let (address, ca) = (format!("tls://localhost:{port}"), data("cert.pem").display().to_string());
    let sent = folder.run(["audit", "forward", "out", "--syslog", &address, "--ca", &ca]);
    assert_eq!(sent.code, 0, "{}{}", sent.stdout, sent.stderr);
    let taken = String::from_utf8(taking.join().unwrap().unwrap()).unwrap();
    let mut rest = taken.as_str();
    let mut lines = Vec::new();
    while let Some((count, after)) = rest.split_once(' ') {
        let (message, behind) = after.split_at(count.parse().unwrap());
        assert!(message.starts_with("<13") && message.contains("plan2geo@32473"), "{message}");
        lines.push(message.split_once('\u{feff}').unwrap().1.to_owned());
        rest = behind;
    }
    let ledger = folder.read("out/_plan2geo/latest/ledger.jsonl");
    assert_eq!(lines, ledger.lines().collect::<Vec<_>>());
}

// R12: a collector whose certificate is not trusted gets nothing, and nothing counts as handed on.
#[test]
fn a_collector_that_is_not_trusted_gets_nothing() {
    let folder = batch();
    let (port, _refusing) = collector(None);
    let refused = folder.run(["audit", "forward", "out", "--syslog", &format!("tls://localhost:{port}")]);
    assert_eq!(refused.code, 1, "{}{}", refused.stdout, refused.stderr);
    let ca = data("cert.pem").display().to_string();
    let (port, taking) = collector(Some("HTTP/1.1 204 No Content\r\n\r\n"));
    let address = format!("https://localhost:{port}/ingest");
    let sent = folder.run(["audit", "forward", "out", "--http", &address, "--ca", &ca]);
    assert_eq!(sent.code, 0, "{}{}", sent.stdout, sent.stderr);
    assert!(sent.stdout.starts_with("3 lines handed on"), "none was before: {}", sent.stdout);
    let taken = String::from_utf8(taking.join().unwrap().unwrap()).unwrap();
    assert!(taken.starts_with(&format!("POST /ingest HTTP/1.1\r\nHost: localhost:{port}\r\n")), "{taken}");
    assert!(taken.ends_with(&folder.read("out/_plan2geo/latest/ledger.jsonl")), "{taken}");
}
