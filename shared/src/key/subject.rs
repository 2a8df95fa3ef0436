//! The key that a change is about.

use super::{KeyId, VerifiedKey};

/// The key that a request to change a key is about, by who asks.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// A key that an administrator names.
    Named(&'a KeyId),
    /// The caller's own key.
    Own(&'a VerifiedKey),
}

impl Subject<'_> {
    /// Returns the id of the key.
    pub const fn id(&self) -> &KeyId {
        match self {
            Self::Named(id) => id,
            Self::Own(key) => &key.id,
        }
    }

    /// Returns the key that the caller presented, or `None` if the caller is an administrator.
    pub const fn by(&self) -> Option<VerifiedKey> {
        match self {
            Self::Named(_) => None,
            Self::Own(key) => Some(**key),
        }
    }
}
