//! The file of prices, `conf/prices.toml`, which the edge gets as JSON.

use std::io;
use std::path::Path;

use shared::prices::{PriceError, Prices};
use thiserror::Error;

/// An error of a file of prices.
#[derive(Debug, Error)]
pub enum PriceFileError {
    /// The file cannot be read.
    #[error("{file}: cannot be read: {error}")]
    Unreadable {
        /// The file.
        file: String,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The file has faults.
    #[error("{file}: {faults}")]
    Faulty {
        /// The file.
        file: String,
        /// The faults.
        faults: PriceFaults,
    },
}

/// The faults of prices in TOML.
#[derive(Debug, Error)]
pub enum PriceFaults {
    /// The text is not TOML.
    #[error(transparent)]
    NotToml(#[from] toml::de::Error),
    /// These are not prices.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    NotPrices(Vec<PriceError>),
}

/// Reads the file of prices at `path`.
///
/// # Errors
/// If the file cannot be read, or has faults. Names all of them.
pub fn load(path: &Path) -> Result<Prices, PriceFileError> {
    let file = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text).map_err(|faults| PriceFileError::Faulty { file, faults }),
        Err(error) => Err(PriceFileError::Unreadable { file, error }),
    }
}

/// Reads prices in TOML.
///
/// # Errors
/// If the text is not TOML, or has faults. Names all of them.
pub(super) fn parse(text: &str) -> Result<Prices, PriceFaults> {
    Prices::read(&toml::from_str(text)?).map_err(PriceFaults::NotPrices)
}

#[cfg(test)]
mod tests {
    use shared::action::Action;
    use shared::prices::Price;
    use shared::tool::Tool;

    use super::*;

    #[test]
    fn shipped_file_and_documented_example_are_valid() {
        let shipped =
            load(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../conf/prices.toml"))).unwrap();
        assert!(shipped.is_empty(), "a call costs nothing unless the operator says so");
        let text = "[image]\ngenerate = 40\n[narrate]\ncreate = { at_most = 600 }\n\"*\" = 1\n";
        let prices = parse(text).unwrap();
        let of = |tool, action| prices.of(tool, Action::parse(action).unwrap());
        assert_eq!(of(Tool::Image, "generate"), Price::Fixed(40));
        assert_eq!(of(Tool::Narrate, "create"), Price::AtMost(600));
        assert_eq!(of(Tool::Narrate, "list"), Price::Fixed(1));
        assert_eq!(Prices::from_json(&prices.to_json()), Ok(prices));
    }

    #[test]
    fn faults_are_named_with_the_file() {
        assert!(parse("[qr]\ncreate = -1\n[qrr]\n").unwrap_err().to_string().contains("qr.create must be"));
        assert!(parse("[qr\n").unwrap_err().to_string().contains("TOML parse error"));
        let error = load(Path::new("/nowhere/prices.toml")).unwrap_err().to_string();
        assert!(error.starts_with("/nowhere/prices.toml: cannot be read"), "{error}");
    }
}
