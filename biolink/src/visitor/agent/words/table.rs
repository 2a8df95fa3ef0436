//! The words that say something, and what.

use Sign::{App, Browser, Flag, Os};

/// The meaning of a word.
#[derive(Clone, Copy)]
pub(super) enum Sign {
    /// One of the flags below.
    Flag(u16),
    /// A browser, with its rank.
    Browser(u8, &'static str),
    /// A system, with its rank.
    Os(u8, &'static str),
    /// An app with a built-in browser, with its rank, and the characters of which one must follow
    /// unless there are none.
    App(u8, &'static str, &'static str),
}

pub(super) const MOBILE: u16 = 1 << 0;
pub(super) const TABLET: u16 = 1 << 1;
pub(super) const TV: u16 = 1 << 2;
pub(super) const PHONE: u16 = 1 << 3;
pub(super) const IPAD: u16 = 1 << 4;
pub(super) const IPHONE: u16 = 1 << 5;
pub(super) const MACINTOSH: u16 = 1 << 6;
pub(super) const WINDOWS: u16 = 1 << 7;
pub(super) const ANDROID: u16 = 1 << 8;
pub(super) const LINUX: u16 = 1 << 9;
pub(super) const SAFARI: u16 = 1 << 10;
pub(super) const WEBKIT: u16 = 1 << 11;
pub(super) const WEB_VIEW: u16 = 1 << 12;
pub(super) const MOZILLA: u16 = 1 << 13;
pub(super) const NOT_APP: u16 = 1 << 14;

/// The rank of Chrome, which most browsers name too.
pub(super) const CHROME: u8 = 3;

/// The words in lower case, sorted. The name with the least rank counts.
pub(super) static WORDS: &[(&str, &[Sign])] = &[
    ("android", &[Flag(ANDROID), Os(2, "Android")]),
    ("appletv", &[Flag(TV), Os(1, "tvOS")]),
    ("applewebkit", &[Flag(WEBKIT)]),
    ("barcelona", &[App(0, "Threads", " /")]),
    ("blackberry", &[Flag(PHONE)]),
    ("brave", &[Browser(1, "Brave")]),
    ("bravia", &[Flag(TV)]),
    ("bytedancewebview", &[App(2, "TikTok", "")]),
    ("bytelocale", &[App(2, "TikTok", "")]),
    ("chrome", &[Browser(CHROME, "Chrome")]),
    ("chromium", &[Browser(CHROME, "Chrome")]),
    ("coc_coc_browser", &[Browser(1, "Coc Coc")]),
    ("crios", &[Browser(CHROME, "Chrome")]),
    ("crkey", &[Flag(TV)]),
    ("cros", &[Flag(LINUX), Os(1, "ChromeOS")]),
    ("ddg", &[Browser(1, "DuckDuckGo")]),
    ("discord", &[App(2, "Discord", "/")]),
    ("dtv", &[Flag(TV)]),
    ("duckduckgo", &[Browser(1, "DuckDuckGo")]),
    ("ecosia", &[Browser(1, "Ecosia")]),
    ("edg", &[Browser(1, "Edge")]),
    ("edga", &[Browser(1, "Edge")]),
    ("edge", &[Browser(1, "Edge")]),
    ("edgios", &[Browser(1, "Edge")]),
    ("electron", &[Browser(1, "Electron")]),
    ("fb_iab", &[App(1, "Facebook", "")]),
    ("fban", &[App(1, "Facebook", "")]),
    ("fbav", &[App(1, "Facebook", "")]),
    ("firefox", &[Browser(2, "Firefox")]),
    ("flipboard", &[App(2, "Flipboard", "")]),
    ("focus", &[Browser(1, "Firefox Focus")]),
    ("freebsd", &[Os(3, "BSD")]),
    ("fxios", &[Browser(2, "Firefox")]),
    ("googletv", &[Flag(TV)]),
    ("gsa", &[App(3, "Google", "/")]),
    ("harmonyos", &[Os(1, "HarmonyOS")]),
    ("hbbtv", &[Flag(TV)]),
    ("hbpc", &[Browser(1, "Huawei Browser")]),
    ("heytapbrowser", &[Browser(1, "HeyTap Browser")]),
    ("huaweibrowser", &[Browser(1, "Huawei Browser")]),
    ("instagram", &[App(0, "Instagram", "")]),
    ("ipad", &[Flag(IPAD), Os(1, "iPadOS")]),
    ("iphone", &[Flag(IPHONE), Os(2, "iOS")]),
    ("ipod", &[Flag(PHONE), Os(2, "iOS")]),
    ("kaios", &[Flag(PHONE), Os(1, "KaiOS")]),
    ("kakaotalk", &[App(2, "KakaoTalk", "")]),
    ("klar", &[Browser(1, "Firefox Focus")]),
    ("line", &[App(2, "LINE", "/")]),
    ("linkedinapp", &[App(2, "LinkedIn", "")]),
    ("linux", &[Flag(LINUX), Os(4, "Linux")]),
    ("macintosh", &[Flag(MACINTOSH), Os(3, "macOS")]),
    ("messenger", &[App(0, "Messenger", "")]),
    ("messengerforios", &[App(0, "Messenger", "")]),
    ("messengerliteforios", &[App(0, "Messenger", "")]),
    ("metaiab", &[App(1, "Facebook", "")]),
    ("micromessenger", &[App(2, "WeChat", "")]),
    ("midp", &[Flag(PHONE)]),
    ("miuibrowser", &[Browser(1, "Mi Browser")]),
    ("mobile", &[Flag(MOBILE)]),
    ("mozilla", &[Flag(MOZILLA)]),
    ("mqqbrowser", &[Browser(1, "QQ Browser")]),
    ("msie", &[Browser(1, "Internet Explorer")]),
    ("musical_ly", &[App(2, "TikTok", "")]),
    ("naver", &[App(2, "Naver", "(")]),
    ("netbsd", &[Os(3, "BSD")]),
    ("netcast", &[Flag(TV)]),
    ("nintendo", &[Flag(TV), Os(1, "Nintendo")]),
    ("openbsd", &[Os(3, "BSD")]),
    ("openharmony", &[Os(1, "HarmonyOS")]),
    ("opera", &[Browser(1, "Opera")]),
    ("opios", &[Browser(1, "Opera")]),
    ("opr", &[Browser(1, "Opera")]),
    ("oprgx", &[Browser(1, "Opera")]),
    ("opt", &[Browser(1, "Opera")]),
    ("opx", &[Browser(1, "Opera")]),
    ("orca", &[App(0, "Messenger", "")]),
    ("phone", &[Flag(PHONE)]),
    ("pinterest", &[App(2, "Pinterest", "/ ")]),
    ("playbook", &[Flag(TABLET)]),
    ("playstation", &[Flag(TV), Os(1, "PlayStation")]),
    ("puffin", &[Browser(1, "Puffin")]),
    ("qq", &[App(2, "QQ", "/")]),
    ("qqbrowser", &[Browser(1, "QQ Browser")]),
    ("reddit", &[App(2, "Reddit", "/")]),
    ("roku", &[Flag(TV)]),
    ("safari", &[Flag(SAFARI)]),
    ("samsungbrowser", &[Browser(1, "Samsung Internet")]),
    ("silk", &[Browser(1, "Silk")]),
    ("slack", &[App(2, "Slack", "/")]),
    ("slack_ssb", &[App(2, "Slack", "/")]),
    ("smarttv", &[Flag(TV)]),
    ("snapchat", &[App(2, "Snapchat", "/")]),
    ("symbian", &[Flag(PHONE)]),
    ("symbianos", &[Flag(PHONE)]),
    ("tablet", &[Flag(TABLET)]),
    ("telegram", &[App(2, "Telegram", "/-")]),
    ("tizen", &[Os(1, "Tizen")]),
    ("trident", &[Browser(1, "Internet Explorer")]),
    ("tumblr", &[App(2, "Tumblr", "/")]),
    ("tv", &[Flag(TV)]),
    ("tvos", &[Os(1, "tvOS")]),
    ("twitter", &[App(2, "X", " ")]),
    ("twitterandroid", &[App(2, "X", "")]),
    ("ubrowser", &[Browser(1, "UC Browser")]),
    ("ubuntu", &[Os(4, "Linux")]),
    ("ucbrowser", &[Browser(1, "UC Browser")]),
    ("viber", &[App(2, "Viber", "")]),
    ("viera", &[Flag(TV)]),
    ("vivaldi", &[Browser(1, "Vivaldi")]),
    ("vivobrowser", &[Browser(1, "vivo Browser")]),
    ("vkandroidapp", &[App(2, "VK", "")]),
    ("vkclient", &[App(2, "VK", "")]),
    ("web0s", &[Flag(TV), Os(1, "webOS")]),
    ("webos", &[Os(1, "webOS")]),
    ("wechatdevtools", &[Flag(NOT_APP)]),
    ("weibo", &[App(2, "Weibo", "")]),
    ("whale", &[Browser(1, "Whale")]),
    ("whatsapp", &[App(2, "WhatsApp", "/")]),
    ("windows", &[Flag(WINDOWS), Os(1, "Windows")]),
    ("wv", &[Flag(WEB_VIEW)]),
    ("x11", &[Flag(LINUX), Os(4, "Linux")]),
    ("xbox", &[Flag(TV)]),
    ("yabrowser", &[Browser(1, "Yandex Browser")]),
    ("youtube", &[App(2, "YouTube", "/")]),
    ("zalo", &[App(2, "Zalo", "")]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted() {
        assert!(WORDS.is_sorted_by(|(a, _), (b, _)| a < b));
    }
}
