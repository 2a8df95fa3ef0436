//! The words of a user agent that say something.

mod table;

use crate::visitor::Device;
use table::{
    ANDROID, CHROME, IPAD, IPHONE, LINUX, MACINTOSH, MOBILE, MOZILLA, NOT_APP, PHONE, SAFARI, Sign, TABLET,
    TV, WEB_VIEW, WEBKIT, WINDOWS, WORDS,
};

/// A name and its rank.
type Ranked = Option<(u8, &'static str)>;

/// The meaning of the words of a user agent. A word is a run of letters, digits and `_`.
#[derive(Default)]
pub(super) struct Words {
    flags: u16,
    browser: Ranked,
    os: Ranked,
    app: Ranked,
}

impl Words {
    /// Reads a user agent in lower case.
    pub(super) fn read(text: &str) -> Self {
        let mut words = Self::default();
        let mut rest = text.as_bytes();
        while let Some(start) = rest.iter().position(|byte| is_word(*byte)) {
            let (_, text) = rest.split_at(start);
            let end = text.iter().position(|byte| !is_word(*byte)).unwrap_or(text.len());
            let (word, after) = text.split_at(end);
            words.add(word, after);
            rest = after;
        }
        words
    }

    fn add(&mut self, word: &[u8], after: &[u8]) {
        // Versions are most of the words.
        if word.first().is_none_or(u8::is_ascii_digit) {
            return;
        }
        let found = WORDS.binary_search_by(|(known, _)| known.as_bytes().cmp(word)).ok();
        if let Some((_, signs)) = found.and_then(|index| WORDS.get(index)) {
            signs.iter().for_each(|sign| self.add_sign(*sign, after));
        } else if word.starts_with(b"aft") && (4..=8).contains(&word.len()) {
            // The models of Fire TV: AFTT, AFTMM, AFTKA and others.
            self.flags |= TV;
        } else if word.starts_with(b"trill_") || word.starts_with(b"musical_ly_") {
            least(&mut self.app, 2, "TikTok");
        }
    }

    fn add_sign(&mut self, sign: Sign, after: &[u8]) {
        match sign {
            Sign::Flag(flag) => self.flags |= flag,
            Sign::Browser(rank, name) => least(&mut self.browser, rank, name),
            Sign::Os(rank, name) => least(&mut self.os, rank, name),
            Sign::App(rank, name, followers) => {
                let follower = after.first().is_some_and(|byte| followers.as_bytes().contains(byte));
                // A word alone may be part of another name. What follows it tells the app.
                if followers.is_empty() || follower {
                    least(&mut self.app, rank, name);
                }
            }
        }
    }

    const fn has(&self, flags: u16) -> bool {
        self.flags & flags != 0
    }

    /// Returns the app whose built-in browser it is. Programs that have the name of an app and are
    /// not a browser do not begin with `Mozilla`, save Facebook on Android.
    pub(super) fn app(&self) -> Option<&'static str> {
        let (_, name) = self.app.filter(|(_, name)| self.has(MOZILLA) || *name == "Facebook")?;
        (!self.has(NOT_APP)).then_some(name)
    }

    pub(super) fn device(&self) -> Device {
        match () {
            () if self.has(TV) => Device::Tv,
            // Internet Explorer says `Tablet PC` on any computer.
            () if self.has(IPAD) || (self.has(TABLET) && !self.has(WINDOWS)) => Device::Tablet,
            () if self.is_ipad_as_macintosh() => Device::Tablet,
            () if self.has(IPHONE | PHONE | MOBILE) => Device::Mobile,
            // Browsers on Android say `Mobile` on phones only.
            () if self.has(ANDROID) && self.has(WEBKIT) => Device::Tablet,
            () if self.has(ANDROID) => Device::Mobile,
            () if self.has(WINDOWS | MACINTOSH | LINUX) => Device::Desktop,
            () => Device::Other,
        }
    }

    pub(super) fn os(&self) -> Option<&'static str> {
        if self.is_ipad_as_macintosh() { Some("iPadOS") } else { self.os.map(|(_, name)| name) }
    }

    /// Returns true for the built-in browsers of apps on an iPad, which say that it is a Macintosh.
    const fn is_ipad_as_macintosh(&self) -> bool {
        self.has(MACINTOSH) && self.has(MOBILE)
    }

    pub(super) fn browser(&self) -> Option<&'static str> {
        if let Some(app) = self.app() {
            return Some(app);
        }
        match self.browser {
            // Before the rest: most browsers name Chrome too, and are not Chrome.
            Some((rank, name)) if rank < CHROME => Some(name),
            _ if self.has(WEB_VIEW) => Some("Android WebView"),
            Some((_, name)) => Some(name),
            None if self.has(SAFARI) && self.has(IPHONE | IPAD | MACINTOSH) => Some("Safari"),
            None if self.has(SAFARI) && self.has(ANDROID) => Some("Android Browser"),
            None if self.has(WEBKIT) && self.has(IPHONE | IPAD) => Some("iOS WebView"),
            None => None,
        }
    }
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Keeps the name with the least rank, because most agents name several.
fn least(slot: &mut Ranked, rank: u8, name: &'static str) {
    if slot.is_none_or(|(least, _)| rank < least) {
        *slot = Some((rank, name));
    }
}
