//! Addresses of images.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ImageId, WebUrl};

/// The address of an image on a page: an image of the account, or one on another host.
///
/// The account's own is a path, `/i/img_…`, so that each host that shows the page serves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageUrl {
    /// An image that was uploaded.
    Own(ImageId),
    /// An `https` address on another host.
    Foreign(WebUrl),
}

impl ImageUrl {
    /// The path below which uploaded images are served.
    pub const PATH: &str = "/i/";

    /// Returns the image that a path names.
    pub fn own(path: &str) -> Option<ImageId> {
        ImageId::parse(path.strip_prefix(Self::PATH)?)
    }

    /// Returns true if it keeps the rules of today.
    pub fn is_allowed(&self) -> bool {
        self.foreign().is_none_or(WebUrl::is_allowed)
    }

    /// Returns the address on another host.
    pub const fn foreign(&self) -> Option<&WebUrl> {
        match self {
            Self::Own(_) => None,
            Self::Foreign(url) => Some(url),
        }
    }

    /// Returns the whole address. `base` is the address below which pages are shown.
    pub fn absolute(&self, base: &str) -> String {
        match self {
            Self::Own(_) => format!("{base}{self}"),
            Self::Foreign(url) => url.to_string(),
        }
    }
}

impl fmt::Display for ImageUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(id) => write!(f, "{}{id}", Self::PATH),
            Self::Foreign(url) => fmt::Display::fmt(url, f),
        }
    }
}

impl Serialize for ImageUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ImageUrl {
    /// A stored address may break a rule that came later.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(Self::own(&text).map_or_else(|| Self::Foreign(WebUrl::stored(text)), Self::Own))
    }
}
