//! Profiles on other sites.

use serde::{Deserialize, Serialize};

use crate::page::WebUrl;

/// A profile elsewhere, linked with `rel="me"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Social {
    /// The site.
    pub platform: Platform,
    /// The profile.
    pub url: WebUrl,
    /// Its text for those who do not see the icon, at most 60 characters; `None` is the site's
    /// name.
    pub label: Option<String>,
}

macro_rules! platforms {
    ($($variant:ident $name:literal $label:literal,)*) => {
        /// A site with profiles.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[allow(missing_docs, reason = "`label` is the name of each")]
        pub enum Platform {
            $(#[serde(rename = $name)] $variant,)*
        }

        impl Platform {
            /// Every platform once, in alphabetical order, [`Platform::Website`] last.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the name in JSON.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the name as people write it.
            pub const fn label(self) -> &'static str {
                match self { $(Self::$variant => $label,)* }
            }
        }
    };
}

platforms! {
    Bandcamp "bandcamp" "Bandcamp",
    Behance "behance" "Behance",
    Bluesky "bluesky" "Bluesky",
    Codeberg "codeberg" "Codeberg",
    Discord "discord" "Discord",
    Dribbble "dribbble" "Dribbble",
    Etsy "etsy" "Etsy",
    Facebook "facebook" "Facebook",
    Github "github" "GitHub",
    Gitlab "gitlab" "GitLab",
    Instagram "instagram" "Instagram",
    Linkedin "linkedin" "LinkedIn",
    Mastodon "mastodon" "Mastodon",
    Medium "medium" "Medium",
    Patreon "patreon" "Patreon",
    Pinterest "pinterest" "Pinterest",
    Reddit "reddit" "Reddit",
    Snapchat "snapchat" "Snapchat",
    Soundcloud "soundcloud" "SoundCloud",
    Spotify "spotify" "Spotify",
    Substack "substack" "Substack",
    Telegram "telegram" "Telegram",
    Threads "threads" "Threads",
    Tiktok "tiktok" "TikTok",
    Tumblr "tumblr" "Tumblr",
    Twitch "twitch" "Twitch",
    Vimeo "vimeo" "Vimeo",
    X "x" "X",
    Youtube "youtube" "YouTube",
    Website "website" "Website",
}
