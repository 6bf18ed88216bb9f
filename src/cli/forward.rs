//! `plan2geo audit forward`: hands the lines of a ledger on to a log collector, from where it stopped last time.
//!
//! It reads the ledger as anybody does, so it can run beside a batch without slowing it. Lines are handed on at least
//! once; the collector tells repeated ones by run and `seq`. TLS needs the feature `object-store`, which brings the library.

use std::path::{Path, PathBuf};

use clap::Args;
use plan2geo_actors::ledger::forward::{Connect, HttpJson, Syslog, Target, tcp};
use plan2geo_actors::ledger::{self, ForwardError};

use super::{CliError, exit, print, run_directory};

#[derive(Debug, Args)]
pub(crate) struct Forward {
    /// The directory of a run, an output directory, or a configuration.
    run: PathBuf,
    /// RFC 5424, to `host:port` over TCP or `tls://host:port` over TLS (RFC 5425; port 6514 if none is said).
    #[arg(long, value_name = "ADDRESS", required_unless_present = "http", conflicts_with = "http")]
    syslog: Option<String>,
    /// JSON lines by HTTP POST, to `http://host:port/path` or `https://host/path`.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
    /// Certificates (PEM) to trust with TLS. Default: those the system trusts.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Where it is kept how far it has come. Default: `forward.json` beside the ledger.
    #[arg(long, value_name = "FILE")]
    cursor: Option<PathBuf>,
}

/// Lines handed over at one time.
const BATCH: usize = 500;

pub(crate) fn forward(arguments: &Forward) -> Result<u8, CliError> {
    let directory = run_directory(&arguments.run)?;
    let beside = directory.join("forward.json");
    let cursor = arguments.cursor.as_deref().unwrap_or(&beside);
    let mut target: Box<dyn Target> = match (&arguments.syslog, &arguments.http) {
        (Some(address), _) => {
            let place = Place::of(address, 601, 6514);
            Box::new(Syslog::over(connector(&place, arguments.ca.as_deref())?, host_name(), "plan2geo"))
        }
        (None, Some(address)) => {
            let place = Place::of(address, 80, 443);
            let connect = connector(&place, arguments.ca.as_deref())?;
            Box::new(HttpJson::over(connect, place.authority.clone(), place.path))
        }
        (None, None) => return Err(CliError::usage("nowhere to forward to", "give --syslog or --http")),
    };
    match ledger::forward(&directory, cursor, target.as_mut(), BATCH) {
        Ok(done) => {
            print::line(&format!("{} lines handed on; next is line {}", done.sent, done.next))?;
            Ok(exit::ALL)
        }
        Err(ForwardError::Ledger(error)) => Err(error.into()),
        Err(error) => {
            let remedy = "run it again when the collector answers: it goes on from there";
            Err(CliError::failed(error.to_string(), remedy))
        }
    }
}

fn host_name() -> String {
    let name = std::fs::read_to_string(Path::new("/proc/sys/kernel/hostname")).unwrap_or_default();
    name.trim().to_owned()
}

/// Where a collector is: `[scheme://]host[:port][/path]`.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    tls: bool,
    /// Without port, for the certificate.
    host: String,
    /// `host:port` as written, for the `Host` of a request.
    authority: String,
    /// `host:port` to connect to.
    address: String,
    path: String,
}

impl Place {
    fn of(text: &str, port: u16, tls_port: u16) -> Self {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let tls = matches!(scheme, "tls" | "https");
        let (authority, path) = match rest.split_once('/') {
            Some((authority, path)) => (authority, format!("/{path}")),
            None => (rest, "/".to_owned()),
        };
        // A colon that is followed by digits only; those within the brackets of an IPv6 address are not.
        let port_of = |at: usize| authority.get(at + 1..).filter(|port| port.parse::<u16>().is_ok());
        let (host, address) = match authority.rfind(':').filter(|at| port_of(*at).is_some()) {
            Some(at) => (authority.get(..at).unwrap_or_default(), authority.to_owned()),
            None => (authority, format!("{authority}:{}", if tls { tls_port } else { port })),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Self { tls, host, authority: authority.to_owned(), address, path }
    }
}

fn connector(place: &Place, trusted: Option<&Path>) -> Result<Connect, CliError> {
    if !place.tls {
        return Ok(tcp(place.address.as_str()));
    }
    #[cfg(feature = "object-store")]
    {
        super::tls::connector(&place.host, &place.address, trusted)
    }
    #[cfg(not(feature = "object-store"))]
    {
        let _ = trusted;
        Err(CliError::usage(
            "this build has no TLS",
            "build it with `--features object-store`, or use an agent beside it",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn an_address_is_a_scheme_a_host_a_port_and_a_path() {
        let place = |text: &str| {
            let place = Place::of(text, 80, 443);
            (place.tls, place.host, place.authority, place.address, place.path)
        };
        let expected = |tls: bool, host: &str, authority: &str, address: &str, path: &str| {
            (tls, host.to_owned(), authority.to_owned(), address.to_owned(), path.to_owned())
        };
        assert_eq!(place("http://10.0.0.1:88/a?c"), expected(false, "10.0.0.1", "10.0.0.1:88", "10.0.0.1:88", "/a?c"));
        assert_eq!(place("collector:80"), expected(false, "collector", "collector:80", "collector:80", "/"));
        assert_eq!(place("https://c/x/y"), expected(true, "c", "c", "c:443", "/x/y"));
        assert_eq!(place("tls://[::1]:6514"), expected(true, "::1", "[::1]:6514", "[::1]:6514", "/"));
        assert_eq!(place("tls://[::1]"), expected(true, "::1", "[::1]", "[::1]:443", "/"));
    }
}
