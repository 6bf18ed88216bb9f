//! `plan2geo audit forward`: hands the lines of a ledger on to a log collector, from where it stopped last time.
//!
//! It reads the ledger as anybody does, so it can run beside a batch without slowing it. Lines are handed on at least
//! once; the collector tells repeated ones by run and `seq`.

use std::path::{Path, PathBuf};

use clap::Args;
use plan2geo_actors::ledger::forward::{HttpJson, SyslogTcp, Target};
use plan2geo_actors::ledger::{self, ForwardError};

use super::{CliError, exit, print, run_directory};

#[derive(Debug, Args)]
pub(crate) struct Forward {
    /// The directory of a run, an output directory, or a configuration.
    run: PathBuf,
    /// RFC 5424 over TCP, to `host:port`.
    #[arg(long, value_name = "ADDRESS", required_unless_present = "http", conflicts_with = "http")]
    syslog: Option<String>,
    /// JSON lines by HTTP POST, to `host:port/path`.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
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
        (Some(address), _) => Box::new(SyslogTcp::new(address.as_str(), host_name(), "plan2geo")),
        (None, Some(address)) => {
            let (host, path) = host_and_path(address);
            Box::new(HttpJson::new(host, path))
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

fn host_and_path(address: &str) -> (String, String) {
    let address = address.strip_prefix("http://").unwrap_or(address);
    match address.split_once('/') {
        Some((host, path)) => (host.to_owned(), format!("/{path}")),
        None => (address.to_owned(), "/".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::host_and_path;

    #[test]
    fn an_address_is_a_host_and_a_path() {
        let both = |host: &str, path: &str| (host.to_owned(), path.to_owned());
        assert_eq!(host_and_path("http://127.0.0.1:8088/a/b?c"), both("127.0.0.1:8088", "/a/b?c"));
        assert_eq!(host_and_path("collector:80"), both("collector:80", "/"));
    }
}
