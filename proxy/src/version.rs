//! Which version runs, and from which commit it was built.

/// The version of the package.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The first 12 digits of the commit, with `-dirty` if files differed from it; `unknown` if it was not built with optimization
/// from a checkout. `UTG_COMMIT` in the build's environment overrides it.
pub const COMMIT: &str = env!("UTG_COMMIT");

/// Both, as `--version` prints them.
pub const TEXT: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("UTG_COMMIT"), ")");
