//! The version and the commit of the build.

use phases::observe::metrics::Build;

/// The version of the package.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The first 12 digits of the commit, with `-dirty` if files differ from it. `unknown` in builds
/// without optimization or outside a checkout. `UTG_COMMIT` in the environment of the build
/// overrides it.
pub const COMMIT: &str = env!("UTG_COMMIT");

/// What the metrics say of the build.
pub(crate) const BUILD: Build = Build { version: VERSION, commit: COMMIT };

/// Version and commit, as `--version` prints them.
pub const TEXT: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("UTG_COMMIT"), ")");
