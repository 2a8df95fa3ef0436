//! Whether a program or a person made a request.

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
        }
        assert!(BROWSERS.lines().count() > 300);
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
