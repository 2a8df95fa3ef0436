//! The program and device of a visitor.

mod words;

use super::{
    bot::{self, BotClass},
    device::Device,
};
use words::Words;

/// The greatest length of a user agent in bytes that is read. Real ones have up to 500. It bounds
/// what a malicious one costs: less than 0.1 ms.
const MAX_LEN: usize = 1024;

/// The device and the program that a user agent names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agent {
    /// The kind of the device. `Other` for a bot.
    pub device: Device,
    /// The name of the browser, for example `Chrome`, or of the app that shows the page. `None` if
    /// it is not known, and for a bot.
    pub browser: Option<&'static str>,
    /// The name of the operating system, for example `iOS`. `None` if it is not known, and for a
    /// bot.
    pub os: Option<&'static str>,
    /// The name of the app whose built-in browser it is, for example `Instagram`.
    pub app: Option<&'static str>,
    /// The class of the program, if no person uses it.
    pub bot: Option<BotClass>,
}

impl Agent {
    /// Reads a `User-Agent` header. Without one, or with an empty one, it is a bot of the class
    /// `library`, because every browser sends one. The first 1,024 bytes count.
    ///
    /// ```
    /// use biolink::visitor::{Agent, Device};
    ///
    /// let agent = Agent::read(Some(
    ///     "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 \
    ///      (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
    /// ));
    /// assert_eq!((agent.device, agent.os, agent.browser), (Device::Mobile, Some("iOS"), Some("Safari")));
    /// assert_eq!(agent.bot, None);
    /// ```
    pub fn read(user_agent: Option<&str>) -> Self {
        let user_agent = user_agent.unwrap_or_default().trim();
        // The patterns are tried on each request, and a header may have kilobytes.
        let end = user_agent.floor_char_boundary(MAX_LEN);
        let text = user_agent.get(..end).unwrap_or_default().to_ascii_lowercase();
        let words = Words::read(&text);
        let app = words.app();
        match bot::classify(&text, app.is_some()) {
            // Nothing of the device, which a program makes up.
            bot @ Some(_) => Self { device: Device::Other, browser: None, os: None, app: None, bot },
            None => Self { device: words.device(), browser: words.browser(), os: words.os(), app, bot: None },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Agents with device, system, browser and app.
    const PEOPLE: &str = include_str!("../../tests/user_agents/people.tsv");

    #[test]
    fn agent_of_a_person_is_named() {
        for line in PEOPLE.lines() {
            let [device, os, browser, app, agent] =
                line.splitn(5, '\t').collect::<Vec<_>>().try_into().unwrap();
            let read = Agent::read(Some(agent));
            let named = [read.os, read.browser, read.app].map(|name| name.unwrap_or("-"));
            assert_eq!((read.device.as_str(), named), (device, [os, browser, app]), "{agent}");
            assert_eq!(read.bot, None, "{agent}");
        }
    }

    #[test]
    fn built_in_browser_is_a_bot_only_with_the_name_of_a_crawler() {
        let facebook = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 \
                        (KHTML, like Gecko) Mobile/21F79 [FBAN/FBIOS;FBAV/468.0;FBCR/Preview Mobile;FBLC/en]";
        assert!(bot::classify(&facebook.to_ascii_lowercase(), false).is_some(), "`preview` is of a bot");
        assert_eq!(
            (Agent::read(Some(facebook)).bot, Agent::read(Some(facebook)).app),
            (None, Some("Facebook"))
        );
        for crawler in ["facebookexternalhit/1.1", "Twitterbot/1.0", "BrandVerity/1.0"] {
            let agent = Agent::read(Some(&format!("{facebook} {crawler}")));
            assert!(agent.bot.is_some() && agent.app.is_none(), "{crawler}");
        }
    }

    #[test]
    fn bot_with_the_name_of_an_app_is_a_bot() {
        for agent in [
            "Mozilla/5.0 (compatible; TikTok-Bot/1.0)",
            "Mozilla/5.0 (compatible; SnapchatAds/1.0; +https://businesshelp.snapchat.com/s/article/adsbot-crawler)",
            "Mozilla/5.0 (iPhone; CPU iPhone OS 13_1_1 like Mac OS X) Mobile/15E148 MicroMessenger/7.0.12 wechatdevtools",
            "Pinterest/0.2 (+http://www.pinterest.com/bot.html)",
            "Snapchat/10.69.5.72 (iPhone11,6; iOS 13.1.3; gzip)",
            "Viber",
        ] {
            assert!(Agent::read(Some(agent)).bot.is_some(), "{agent}");
        }
    }

    #[test]
    fn request_without_an_agent_is_of_a_library() {
        for agent in [None, Some(""), Some("  ")] {
            assert_eq!(Agent::read(agent).bot, Some(BotClass::Library));
        }
    }

    #[test]
    fn known_bots_have_their_class() {
        let table = [
            ("curl/8.5.0", BotClass::Library),
            ("python-requests/2.31.0", BotClass::Library),
            ("okhttp/4.9.3", BotClass::Library),
            (
                "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
                BotClass::SearchEngine,
            ),
            (
                "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
                BotClass::SocialPreview,
            ),
            ("WhatsApp/2.23.20.0", BotClass::SocialPreview),
            ("Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)", BotClass::AiCrawler),
            ("Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)", BotClass::Seo),
            ("Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)", BotClass::Monitoring),
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/120.0.0.0 Safari/537.36",
                BotClass::Automation,
            ),
            ("SomethingNew/1.0 (+https://example.com/robot)", BotClass::Other),
        ];
        for (agent, class) in table {
            assert_eq!(Agent::read(Some(agent)).bot, Some(class), "{agent}");
        }
    }

    #[test]
    fn long_agent_is_cut_between_characters() {
        let agent = format!("Mozilla/5.0 (iPhone) {}", "\u{fc}".repeat(5_000));
        assert_eq!(Agent::read(Some(&agent)).os, Some("iOS"));
    }
}
