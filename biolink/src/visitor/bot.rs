//! Whether a program or a person made a request.
//!
//! Why: docs/decisions/analytics.md, "isbot's patterns are compiled to tables".

mod literals;
mod names;
#[rustfmt::skip]
mod patterns;
mod program;

use literals::{ANYWHERE, Literals, STARTS};
use names::NAMES;
use patterns::{ALWAYS, PROGRAMS};
use strum::{IntoStaticStr, VariantArray};

use super::own_agent;

/// The class of a program that makes requests by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum BotClass {
    /// A crawler of a search engine.
    SearchEngine,
    /// A fetcher that shows a preview of a link which a person shared.
    SocialPreview,
    /// A crawler or fetcher of an AI service.
    AiCrawler,
    /// A crawler of a marketing or search-engine-optimization service.
    Seo,
    /// A check that a site is up or fast.
    Monitoring,
    /// An HTTP library or command-line tool, or a request without a user agent.
    Library,
    /// A crawler of an advertising service.
    Advertising,
    /// A reader of feeds.
    FeedReader,
    /// A crawler that keeps copies of the web.
    Archiver,
    /// A scanner for weaknesses or open ports.
    Scanner,
    /// A crawler for research.
    Academic,
    /// A browser under the control of a program.
    Automation,
    /// Any other.
    Other,
}

shared::named!(BotClass);

impl BotClass {
    /// Every class.
    pub const ALL: [Self; 13] = *Self::VARIANTS.as_array().unwrap();
}

/// Names of mail and office programs, in lower case, which isbot leaves to people. They fetch images,
/// previews and the links of a document by themselves. A link that a person follows opens in a browser.
const MAIL_PROGRAMS: [&str; 8] = [
    "microsoft outlook",
    "microsoft office",
    "ms-office",
    "msoffice",
    "outlook-ios/",
    "outlook-android/",
    "microsoft-webdav-miniredir",
    "thunderbird/",
];
/// Names of gateways that follow the links of a mail before its reader does, in lower case.
const MAIL_SCANNERS: [&str; 4] = ["barracuda", "proofpoint", "mimecast", "ciscosecureemail"];

/// Returns the class of the program that a user agent in lower case names, or `None` if a person
/// uses it. The patterns of isbot decide, save that a built-in browser of an app (`in_app`) is a bot
/// only if it has the name of a crawler.
pub(super) fn classify(agent: &str, in_app: bool) -> Option<BotClass> {
    if agent.is_empty() {
        return Some(BotClass::Library);
    }
    if own_agent::is_own(agent) {
        return Some(BotClass::Other);
    }
    if MAIL_PROGRAMS.iter().any(|name| agent.contains(name)) {
        return Some(named(agent.as_bytes()).unwrap_or(BotClass::SocialPreview));
    }
    if MAIL_SCANNERS.iter().any(|name| agent.contains(name)) {
        return Some(BotClass::Scanner);
    }
    if !matches_patterns(agent.as_bytes()) {
        return None;
    }
    named(agent.as_bytes()).or(if in_app { None } else { Some(BotClass::Other) })
}

/// Returns true if one of isbot's patterns matches.
fn matches_patterns(text: &[u8]) -> bool {
    let holds = |program: u8, at: usize| match usize::from(program).checked_sub(1) {
        None => true,
        Some(index) => PROGRAMS.get(index).is_some_and(|program| program::matches(program, text, at)),
    };
    let found = |literals: &Literals, at: usize| {
        text.get(at..).is_some_and(|rest| literals.at(rest).any(|(_, program)| holds(program, at)))
    };
    found(&STARTS, 0)
        || ANYWHERE.positions(text).any(|at| found(&ANYWHERE, at))
        || ALWAYS.iter().any(|program| program::matches(program, text, 0))
}

/// Returns the class of the crawler whose name is in the text, or of the longest such name.
fn named(text: &[u8]) -> Option<BotClass> {
    let pairs = Pairs::of(text);
    let runs = NAMES.iter().filter(|(_, len, names)| {
        let mut names = names.chunks_exact(*len);
        names.any(|name| pairs.may_contain(name) && text.windows(*len).any(|window| window == name))
    });
    let (class, ..) = runs.max_by_key(|(_, len, _)| *len)?;
    BotClass::ALL.get(*class).copied()
}

/// The set of pairs of neighboring bytes of a text, modulo 32: a Bloom filter for what it contains.
struct Pairs([u32; 32]);

impl Pairs {
    fn of(text: &[u8]) -> Self {
        let mut pairs = [0; 32];
        for pair in text.windows(2) {
            if let [first, second] = pair
                && let Some(seconds) = pairs.get_mut(usize::from(first & 31))
            {
                *seconds |= 1 << (second & 31);
            }
        }
        Self(pairs)
    }

    fn may_contain(&self, name: &[u8]) -> bool {
        name.windows(2).all(|pair| match pair {
            [first, second] => {
                self.0.get(usize::from(first & 31)).is_some_and(|seconds| seconds >> (second & 31) & 1 == 1)
            }
            _ => true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRAWLERS: &str = include_str!("../../tests/user_agents/crawlers.tsv");
    const BROWSERS: &str = include_str!("../../tests/user_agents/browsers.tsv");
    const PATTERNS: &str = include_str!("../../tests/user_agents/patterns.tsv");

    fn is_bot(agent: &str) -> bool {
        matches_patterns(agent.to_ascii_lowercase().as_bytes())
    }

    /// `names.rs` has positions in `ALL`, and stored events have names.
    #[test]
    fn classes_have_distinct_names() {
        let names = BotClass::ALL.map(BotClass::as_str);
        assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), names.len());
        assert_eq!(BotClass::ALL.last(), Some(&BotClass::Other));
    }

    #[test]
    fn verdict_on_texts_near_a_pattern_is_that_of_isbot() {
        for line in PATTERNS.lines() {
            let (verdict, text) = line.split_once('\t').unwrap();
            assert_eq!(is_bot(text), verdict == "bot", "{text}");
        }
        assert_eq!(PATTERNS.lines().count(), 3000);
    }

    #[test]
    fn browsers_of_people_are_none() {
        for line in BROWSERS.lines() {
            let (verdict, agent) = line.split_once('\t').unwrap();
            assert_eq!((is_bot(agent), verdict), (false, "human"), "{agent}");
            assert_eq!(classify(&agent.to_ascii_lowercase(), false), None, "{agent}");
        }
        assert!(BROWSERS.lines().count() > 300);
    }

    /// Agents as they are seen in logs: of programs, scanners and fetchers of previews, and of people beside them.
    #[test]
    fn mail_programs_and_link_scanners_are_no_people() {
        let (preview, scanner) = (Some(BotClass::SocialPreview), Some(BotClass::Scanner));
        for (agent, class) in [
            (
                "Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; WOW64; Trident/7.0; .NET4.0C; .NET4.0E; Microsoft Outlook 16.0.17328; ms-office; MSOffice 16)",
                preview,
            ),
            ("Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.17328; Pro)", preview),
            ("Mozilla/4.0 (compatible; ms-office; MSOffice rmj)", preview),
            ("Microsoft Office Existence Discovery", preview),
            ("Outlook-iOS/711.3164926.prod.iphone (4.2425.0)", preview),
            ("Outlook-Android/2.0", preview),
            ("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.3.1", preview),
            (
                "Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com",
                preview,
            ),
            ("Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", preview),
            ("WhatsApp/2.23.20.0", preview),
            ("Barracuda Sentinel (EE)", scanner),
            ("Mozilla/5.0 (compatible; Proofpoint URL Defense)", scanner),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0",
                None,
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Teams/1.7.00 Chrome/126.0.0.0 Electron/31.0.0 Safari/537.36",
                None,
            ),
        ] {
            assert_eq!(classify(&agent.to_ascii_lowercase(), false), class, "{agent}");
        }
    }

    #[test]
    fn crawlers_are_caught_and_classed() {
        let (mut all, mut caught, mut classed) = (0, 0, 0);
        for line in CRAWLERS.lines() {
            let [verdict, tag, agent] = line.splitn(3, '\t').collect::<Vec<_>>().try_into().unwrap();
            assert_eq!(is_bot(agent), verdict == "bot", "{agent}");
            let class = classify(&agent.to_ascii_lowercase(), false).map(BotClass::as_str);
            let expected = match tag {
                "http-library" => "library",
                "browser-automation" => "automation",
                tag => tag,
            };
            all += 1;
            caught += u32::from(class.is_some());
            classed += u32::from(class == Some(expected));
        }
        assert!(all > 2_000 && caught * 1000 >= all * 995, "{caught} of {all} caught");
        assert!(classed * 1000 >= all * 970, "{classed} of {all} have their class");
    }
}
