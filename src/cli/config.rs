//! `plan2geo config check|show|schema|keys`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::table::Table;
use super::{CliError, exit, print};
use crate::config::{Config, ConfigError, all_keys, mib, schema};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Find everything that is wrong with a configuration, and add up what its limits need.
    #[command(
        after_help = "Examples:\n  plan2geo config check nightly.toml\n  plan2geo config check nightly.toml --deny-warnings"
    )]
    Check {
        /// The configuration.
        file: PathBuf,
        /// Set a key, such as `limits.slots=8`; may be repeated.
        #[arg(long = "set", value_name = "KEY=VALUE")]
        set: Vec<String>,
        /// Warnings are errors: exit 2.
        #[arg(long)]
        deny_warnings: bool,
        /// For machines.
        #[arg(long)]
        json: bool,
    },
    /// Show the whole configuration as it would be used on this machine.
    #[command(
        after_help = "Examples:\n  plan2geo config show\n  plan2geo config show nightly.toml --set limits.slots=8"
    )]
    Show {
        /// The configuration; without it all defaults.
        file: Option<PathBuf>,
        /// Set a key, such as `limits.slots=8`; may be repeated.
        #[arg(long = "set", value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
    /// Print the JSON Schema of configurations, for editors.
    Schema,
    /// Print a configuration with every key, its default and its reason.
    Keys,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, CliError> {
    match &arguments.command {
        Command::Check { file, set, deny_warnings, json } => check(file, set, *deny_warnings, *json),
        Command::Show { file, set } => {
            let config = Config::load(file.as_deref(), set)?;
            print::line(config.effective_toml().trim_end())?;
            Ok(exit::ALL)
        }
        Command::Schema => {
            print::json(&schema())?;
            Ok(exit::ALL)
        }
        Command::Keys => {
            print::line(all_keys().trim_end())?;
            Ok(exit::ALL)
        }
    }
}

fn check(file: &std::path::Path, set: &[String], deny_warnings: bool, as_json: bool) -> Result<u8, CliError> {
    let loaded = Config::load(Some(file), set);
    if as_json {
        return check_as_json(loaded, deny_warnings);
    }
    let config = loaded?;
    for warning in &config.warnings {
        print::error(warning.render(print::colours()).trim_end());
    }
    let limits = &config.limits;
    let sum = config.memory_sum();
    let mut table = Table::indented(2);
    let place = |location: &Option<crate::config::Location>| {
        location.as_ref().map_or_else(|| "(none: run needs it)".to_owned(), ToString::to_string)
    };
    table.row(["source", &place(&config.source.location)]);
    table.row(["output", &place(&config.output)]);
    table.row(["at once", &format!("{} threads, {} slots, {} waiting", limits.threads, limits.slots, limits.queue)]);
    table.row(["memory", &format!("{} of {} ({sum})", mib(sum.total()), mib(limits.memory_budget))]);
    let warnings = config.warnings.len();
    let verdict = match warnings {
        0 => "no errors, no warnings".to_owned(),
        1 => "no errors, 1 warning".to_owned(),
        _ => format!("no errors, {warnings} warnings"),
    };
    print::line(&format!("{}: {verdict}\n{}", file.display(), table.render()))?;
    Ok(if deny_warnings && warnings > 0 { exit::USAGE } else { exit::ALL })
}

fn check_as_json(loaded: Result<Config, crate::config::ConfigErrors>, deny_warnings: bool) -> Result<u8, CliError> {
    let shown = |problems: &[ConfigError]| -> Vec<serde_json::Value> {
        problems
            .iter()
            .map(|problem| {
                json!({
                    "path": problem.path,
                    "line": problem.line(),
                    "message": problem.message,
                    "remedy": problem.remedy,
                })
            })
            .collect()
    };
    match loaded {
        Ok(config) => {
            print::json(
                &json!({ "errors": [], "warnings": shown(&config.warnings), "memory": config.memory_sum().total() }),
            )?;
            Ok(if deny_warnings && !config.warnings.is_empty() { exit::USAGE } else { exit::ALL })
        }
        Err(errors) => {
            print::json(&json!({ "errors": shown(&errors.0), "warnings": [] }))?;
            Ok(exit::USAGE)
        }
    }
}
