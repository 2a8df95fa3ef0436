//! Faults of items.

use thiserror::Error;

use super::number_format::NumberFormat;
use crate::page::UrlError;

/// The longest id of a product, in characters.
pub(super) const MAX_ID: usize = 100;

/// An item of a feed that cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProductError {
    /// It has no id.
    #[error("has no id")]
    NoId,
    /// Its id is too long.
    #[error("has an id longer than {max} characters", max = MAX_ID)]
    IdTooLong,
    /// It has no title.
    #[error("has no title")]
    NoTitle,
    /// It has no link.
    #[error("has no link")]
    NoUrl,
    /// Its link cannot be linked to.
    #[error("its link {0}")]
    Url(UrlError),
    /// Its price cannot be read.
    #[error("its price `{0}` is not such as `15.00 EUR`")]
    Price(String),
    /// Its price has no currency, and its source has none either.
    #[error("its price `{0}` has no currency; set `currency` of the source")]
    NoCurrency(String),
    /// Its price can be read in both number formats.
    #[error(
        "its price `{price}` could mean two amounts, and the other prices do not show which; set `number_format` of the source to `dot` for {dot} or to `comma` for {comma}"
    )]
    AmbiguousPrice {
        /// The price.
        price: String,
        /// The amount with a point before the fraction.
        dot: String,
        /// The amount with a comma before it.
        comma: String,
    },
    /// Its price is in another number format than the one that was chosen.
    #[error("its price `{price}` is not in the number format `{format}`; set `number_format` of the source to `{}` or `auto`", other(*.format))]
    OtherNumberFormat {
        /// The price.
        price: String,
        /// The format that was chosen.
        format: NumberFormat,
    },
    /// The dates of its sale price cannot be read.
    #[error("its sale dates `{0}` are not such as `2027-01-31T12:00+0100/2027-02-07T12:00+0100`")]
    SaleDates(String),
    /// Its image cannot be shown. The product is, without it.
    #[error("its image `{url}` is left out: it {reason}")]
    Image {
        /// The address.
        url: String,
        /// The reason.
        reason: String,
    },
    /// XML has a bare ampersand. It is read.
    #[error("line {line} has a bare `&`, which is read as it is meant; it must be `&amp;` in XML")]
    Ampersand {
        /// The line of the first one, from 1.
        line: usize,
    },
    /// Its id is that of another item before it.
    #[error("has the id of an item before it")]
    Duplicate,
}

impl ProductError {
    /// Returns true if the item is left out for it.
    #[must_use]
    pub const fn leaves_out(&self) -> bool {
        !matches!(self, Self::Image { .. } | Self::Ampersand { .. })
    }
}

/// Returns the number format that is not this one.
const fn other(format: NumberFormat) -> &'static str {
    match format {
        NumberFormat::Dot => "comma",
        NumberFormat::Comma | NumberFormat::Auto => "dot",
    }
}
