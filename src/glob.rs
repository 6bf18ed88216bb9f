//! Patterns of names and paths as people write them: `*` also stands for separators, and case is no difference.

use globset::{Glob, GlobBuilder};

/// Reads a pattern.
///
/// # Errors
/// When it is no glob.
pub(crate) fn glob(pattern: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(pattern).case_insensitive(true).literal_separator(false).backslash_escape(true).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_folders_make_no_difference() {
        let matcher = glob("A/*.dxf").unwrap().compile_matcher();
        assert!(matcher.is_match("a/b/L02.DXF") && !matcher.is_match("b/L02.dxf"));
        assert!(glob("4_[fr").is_err());
    }
}
