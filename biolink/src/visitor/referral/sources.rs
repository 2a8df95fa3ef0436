//! The sites and apps that visitors come from.

use crate::visitor::Channel;

/// Sorted lines of a key, a channel and a name, separated by tabs. A key is a host with everything
/// below it, `app:` with a package of Android, or `utm:` with what `utm_source` may say instead of
/// the name. The channel is that of a visit without a campaign. As one text, it takes half the space
/// of a table of strings.
const SOURCES: &str = include_str!("sources.tsv");

/// Sites under many top-level domains, for example `google.co.uk`.
const WORLDWIDE: [&str; 6] = ["amazon", "ebay", "google", "pinterest", "yahoo", "yandex"];

/// A site or app that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) name: &'static str,
    pub(super) channel: Channel,
}

impl Source {
    /// Returns the source of a host in lower case, which is that of the nearest domain above it if
    /// it has none itself.
    pub(super) fn of_host(host: &str) -> Option<Self> {
        let mut domains = std::iter::successors(Some(host), |domain| Some(domain.split_once('.')?.1));
        domains.find_map(Self::of_key).or_else(|| of_worldwide(host))
    }

    /// Returns the source of a package of Android.
    pub(super) fn of_package(package: &str) -> Option<Self> {
        Self::of_key(&format!("app:{package}"))
    }

    /// Returns the source of an app that [`Agent`](crate::visitor::Agent) names.
    pub(super) fn of_app(name: &'static str) -> Self {
        let channel = match name {
            "Messenger" | "WhatsApp" | "Telegram" | "WeChat" | "LINE" | "KakaoTalk" | "Viber" | "QQ"
            | "Zalo" | "Discord" | "Slack" => Channel::Messaging,
            "Google" | "Naver" => Channel::Search,
            "YouTube" => Channel::Video,
            _ => Channel::Social,
        };
        Self { name, channel }
    }

    /// Returns the source that `utm_source` names: by its name, an alias or a host, in any case.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        let named = || SOURCES.lines().filter_map(read).map(|(_, source)| source);
        let by_name = || named().find(|source| source.name.eq_ignore_ascii_case(name));
        Self::of_key(&format!("utm:{lower}")).or_else(by_name).or_else(|| Self::of_host(&lower))
    }

    /// Searches the lines, which are sorted, by halving.
    fn of_key(key: &str) -> Option<Self> {
        let mut rest = SOURCES;
        while !rest.is_empty() {
            let start =
                rest.get(..rest.floor_char_boundary(rest.len() / 2))?.rfind('\n').map_or(0, |end| end + 1);
            let (before, from) = rest.split_at_checked(start)?;
            let (line, after) = from.split_once('\n')?;
            match key.cmp(line.split_once('\t')?.0) {
                std::cmp::Ordering::Less => rest = before,
                std::cmp::Ordering::Equal => return Some(read(line)?.1),
                std::cmp::Ordering::Greater => rest = after,
            }
        }
        None
    }
}

/// Reads a line.
fn read(line: &'static str) -> Option<(&'static str, Source)> {
    let (key, rest) = line.split_once('\t')?;
    let (channel, name) = rest.split_once('\t')?;
    Some((key, Source { name, channel: channel.parse().ok()? }))
}

/// Reads `google.de`, `www.google.co.uk` and `google.com.br`.
fn of_worldwide(host: &str) -> Option<Source> {
    let mut labels = host.rsplit('.');
    labels.next().filter(|country| country.len() == 2)?;
    let name = match labels.next()? {
        "co" | "com" => labels.next()?,
        name => name,
    };
    if WORLDWIDE.contains(&name) { Source::of_key(&format!("{name}.com")) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read_and_found() {
        let keys: Vec<_> = SOURCES.lines().map(|line| read(line).map(|(key, _)| key).unwrap()).collect();
        assert!(keys.is_sorted_by(|a, b| a < b));
        for line in SOURCES.lines() {
            let (key, source) = read(line).unwrap();
            assert_eq!(Source::of_key(key), Some(source));
            assert_eq!(Source::of_name(source.name), Some(source), "a name has one channel");
        }
        for absent in ["", "!", "zzz", "instagram.co", "instagram.coma", "app:"] {
            assert_eq!(Source::of_key(absent), None, "{absent}");
        }
    }

    #[test]
    fn app_of_an_agent_has_the_channel_of_its_name() {
        for line in include_str!("../../../tests/user_agents/people.tsv").lines() {
            let app = crate::visitor::Agent::read(line.rsplit('\t').next()).app;
            if let Some((app, source)) = app.and_then(|app| Some((app, Source::of_name(app)?))) {
                assert_eq!(Source::of_app(app), source);
            }
        }
    }

    #[test]
    fn host_is_found_by_its_nearest_domain() {
        let table = [
            ("instagram.com", Some("Instagram")),
            ("l.instagram.com", Some("Instagram")),
            ("lm.facebook.com", Some("Facebook")),
            ("t.co", Some("X")),
            ("out.reddit.com", Some("Reddit")),
            ("google.com", Some("Google")),
            ("google.de", Some("Google")),
            ("google.co.uk", Some("Google")),
            ("google.com.br", Some("Google")),
            ("mail.google.com", Some("Gmail")),
            ("gemini.google.com", Some("Gemini")),
            ("de.search.yahoo.com", Some("Yahoo!")),
            ("mail.yahoo.com", Some("Yahoo! Mail")),
            ("pinterest.co.uk", Some("Pinterest")),
            ("chatgpt.com", Some("ChatGPT")),
            ("copilot.microsoft.com", Some("Copilot")),
            ("microsoft.com", None),
            ("notgoogle.com", None),
            ("google.evil.com", None),
            ("at.co", None),
            ("com", None),
            ("", None),
        ];
        for (host, name) in table {
            assert_eq!(Source::of_host(host).map(|source| source.name), name, "{host}");
        }
    }
}
