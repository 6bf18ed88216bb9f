//! What is wrong with a configuration: every error at once, each with its dotted path, line, caret and remedy.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, Severity, SourceCode};

/// A text a configuration was made from: a file or one `--set`.
#[derive(Debug, Clone)]
pub struct Document {
    /// File name, or `--set`.
    pub name: String,
    /// Its text.
    pub text: Arc<str>,
    /// The folder relative paths in it refer to.
    pub folder: std::path::PathBuf,
}

/// Where in which text.
#[derive(Debug, Clone)]
pub struct At {
    /// The text.
    pub document: Document,
    /// Bytes of it.
    pub span: Range<usize>,
}

/// One thing that is wrong, or worth a warning.
#[derive(Debug, Clone)]
pub struct ConfigError {
    /// Dotted path of the key, such as `limits.slots`; empty if the document as a whole is meant.
    pub path: String,
    /// What is wrong; starts with the path.
    pub message: String,
    /// What to do.
    pub remedy: Option<String>,
    /// Where it stands, if it stands somewhere.
    pub at: Option<At>,
    /// Only a warning.
    pub warning: bool,
}

impl ConfigError {
    pub(crate) fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into(), remedy: None, at: None, warning: false }
    }

    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    pub(crate) fn at(mut self, at: Option<At>) -> Self {
        self.at = at;
        self
    }

    /// 1-based line, if it stands somewhere.
    pub fn line(&self) -> Option<usize> {
        let at = self.at.as_ref()?;
        Some(1 + at.document.text.as_bytes().iter().take(at.span.start).filter(|byte| **byte == b'\n').count())
    }

    /// The error with its place, for a terminal; with colours if `colours`.
    pub fn render(&self, colours: bool) -> String {
        let theme = if colours { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let mut text = String::new();
        let handler = GraphicalReportHandler::new_themed(theme).with_links(false).with_width(110);
        match handler.render_report(&mut text, &Shown::new(self)) {
            Ok(()) => text,
            Err(fmt::Error) => format!("{self}\n"),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let (Some(at), Some(line)) = (&self.at, self.line()) {
            write!(f, " ({}, line {line})", at.document.name)?;
        }
        if let Some(remedy) = &self.remedy {
            write!(f, ": {remedy}")?;
        }
        Ok(())
    }
}

/// All that is wrong with a configuration, in the order of the text.
#[derive(Debug, Clone)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl ConfigErrors {
    /// All errors with their places, and a closing count.
    pub fn render(&self, colours: bool) -> String {
        let mut text: String = self.0.iter().map(|error| error.render(colours)).collect();
        let count = self.0.len();
        text.push_str(&format!("{count} error{} in the configuration\n", if count == 1 { "" } else { "s" }));
        text
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

/// The form in which miette shows an error.
#[derive(Debug)]
struct Shown<'a> {
    error: &'a ConfigError,
    source: Option<NamedSource<String>>,
}

impl<'a> Shown<'a> {
    fn new(error: &'a ConfigError) -> Self {
        let source = error.at.as_ref().map(|at| NamedSource::new(&at.document.name, at.document.text.to_string()));
        Self { error, source }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.error.message)
    }
}

impl std::error::Error for Shown<'_> {}

impl Diagnostic for Shown<'_> {
    fn severity(&self) -> Option<Severity> {
        Some(if self.error.warning { Severity::Warning } else { Severity::Error })
    }

    fn help<'b>(&'b self) -> Option<Box<dyn fmt::Display + 'b>> {
        self.error.remedy.as_ref().map(|remedy| Box::new(remedy) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let at = self.error.at.as_ref()?;
        let span = (at.span.start, at.span.len().max(1));
        Some(Box::new(std::iter::once(LabeledSpan::new(Some("here".to_owned()), span.0, span.1))))
    }
}
