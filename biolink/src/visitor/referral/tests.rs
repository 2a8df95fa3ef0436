use super::*;

const FIREFOX: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0";
const INSTAGRAM: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/21F79 Instagram 333.0.0.26.91 (iPhone14,3; iOS 17_5)";
const GOOGLE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) GSA/319.0.638705450 Mobile/15E148 Safari/604.1";

fn read(referer: Option<&str>, agent: &str, query: &str) -> Referral {
    Referral::read(referer, Some("links.example"), &Agent::read(Some(agent)), &Utm::read(Some(query)), false)
}

fn parts(referral: &Referral) -> (Option<&str>, Option<&str>, Channel) {
    (referral.referrer.as_deref(), referral.source.as_deref(), referral.channel)
}

#[test]
fn referrer_gives_host_source_and_channel() {
    let table = [
        (
            "https://l.instagram.com/?u=https%3A%2F%2Flinks.example",
            "l.instagram.com",
            "Instagram",
            Channel::Social,
        ),
        ("http://lm.facebook.com/", "lm.facebook.com", "Facebook", Channel::Social),
        ("https://t.co/abc", "t.co", "X", Channel::Social),
        ("https://www.Google.de/", "google.de", "Google", Channel::Search),
        ("https://de.search.yahoo.com/", "de.search.yahoo.com", "Yahoo!", Channel::Search),
        ("https://www.youtube.com/redirect?q=x", "youtube.com", "YouTube", Channel::Video),
        ("https://chatgpt.com/", "chatgpt.com", "ChatGPT", Channel::Ai),
        ("https://mail.google.com/mail/u/0", "mail.google.com", "Gmail", Channel::Email),
        ("https://web.whatsapp.com/", "web.whatsapp.com", "WhatsApp", Channel::Messaging),
        ("android-app://com.instagram.android/", "com.instagram.android", "Instagram", Channel::Social),
        ("android-app://com.google.android.gm", "com.google.android.gm", "Gmail", Channel::Email),
        ("android-app://com.unknown.app/", "com.unknown.app", "com.unknown.app", Channel::Referral),
        ("https://user:secret@blog.example:8443/post", "blog.example", "blog.example", Channel::Referral),
        ("http://192.0.2.1/", "192.0.2.1", "192.0.2.1", Channel::Referral),
    ];
    for (referer, host, source, channel) in table {
        assert_eq!(
            parts(&read(Some(referer), FIREFOX, "")),
            (Some(host), Some(source), channel),
            "{referer}"
        );
    }
}

#[test]
fn own_host_and_malformed_referrers_are_direct() {
    for referer in [
        "https://links.example/",
        "https://www.LINKS.example:8443/anna",
        "",
        "about:blank",
        "links.example",
        "https://",
        "https:///path",
        "https://h\u{f6}st.example/",
        "javascript://x",
        "https://a b/",
        "https://[2001:db8::1]/",
    ] {
        assert_eq!(parts(&read(Some(referer), FIREFOX, "")), (None, None, Channel::Direct), "{referer}");
    }
    assert_eq!(parts(&read(Some(&format!("https://{}/", "a".repeat(300))), FIREFOX, "")).0, None);
}

#[test]
fn app_is_the_source_of_a_visit_without_referrer() {
    assert_eq!(parts(&read(None, INSTAGRAM, "")), (None, Some("Instagram"), Channel::Social));
    assert_eq!(parts(&read(None, GOOGLE, "")), (None, Some("Google"), Channel::Search));
    assert_eq!(parts(&read(None, FIREFOX, "")), (None, None, Channel::Direct));
    let own = read(Some("https://links.example/"), INSTAGRAM, "");
    assert_eq!(parts(&own), (None, Some("Instagram"), Channel::Social));
    let other = read(Some("https://blog.example/"), INSTAGRAM, "");
    assert_eq!(parts(&other), (Some("blog.example"), Some("blog.example"), Channel::Referral));
}

/// Every app that an agent can have is a source with a channel.
#[test]
fn every_app_has_a_channel() {
    for line in include_str!("../../../tests/user_agents/people.tsv").lines() {
        let agent = line.rsplit('\t').next().unwrap();
        let referral = read(None, agent, "");
        assert_eq!(referral.source.as_deref(), Agent::read(Some(agent)).app, "{agent}");
        assert_eq!(referral.source.is_none(), referral.channel == Channel::Direct, "{agent}");
        assert_ne!(referral.channel, Channel::Referral, "{agent}");
    }
}

#[test]
fn campaign_comes_before_referrer_and_app() {
    let table = [
        ("utm_source=ig", "Instagram", Channel::Social),
        ("utm_source=FACEBOOK&utm_medium=cpc", "Facebook", Channel::PaidSocial),
        ("utm_source=fb-ads", "Facebook", Channel::PaidSocial),
        ("utm_source=facebook_feed_ad", "Facebook", Channel::PaidSocial),
        ("utm_source=google&utm_medium=cpc", "Google", Channel::PaidSearch),
        ("utm_source=adwords", "Google", Channel::PaidSearch),
        ("utm_source=googleads", "Google", Channel::PaidSearch),
        ("utm_source=yt-ads", "YouTube", Channel::PaidVideo),
        ("utm_source=bing&utm_medium=organic", "Bing", Channel::Search),
        ("utm_source=chatgpt.com", "ChatGPT", Channel::Ai),
        ("utm_source=Spring%20letter&utm_medium=email", "Spring letter", Channel::Email),
        ("utm_source=newsletter", "Email", Channel::Email),
        ("utm_source=partner&utm_medium=affiliate", "partner", Channel::Affiliate),
        ("utm_source=partner&utm_medium=banner", "partner", Channel::Display),
        ("utm_source=partner&utm_medium=cpc", "partner", Channel::Paid),
        ("utm_source=partner&utm_medium=social", "partner", Channel::Social),
        ("utm_source=partner&utm_medium=video-ad", "partner", Channel::Video),
        ("utm_source=firebase", "firebase", Channel::Push),
        ("utm_source=app&utm_medium=web_push", "app", Channel::Push),
        ("utm_source=sms", "SMS", Channel::Messaging),
        ("utm_source=flyer&utm_medium=qr", "flyer", Channel::Qr),
        ("utm_source=flyer", "flyer", Channel::Referral),
        ("utm_source=threads", "Threads", Channel::Social),
        ("utm_source=reddit_thread", "reddit_thread", Channel::Referral),
        ("utm_source=download", "download", Channel::Referral),
        ("utm_source=tiktok_ads", "TikTok", Channel::PaidSocial),
        ("utm_source=ad", "ad", Channel::Referral),
    ];
    for (query, source, channel) in table {
        let referral = read(Some("https://www.reddit.com/"), INSTAGRAM, query);
        assert_eq!(parts(&referral), (Some("reddit.com"), Some(source), channel), "{query}");
    }
}

#[test]
fn medium_alone_changes_the_channel_only() {
    let referral = read(Some("https://www.reddit.com/"), FIREFOX, "utm_medium=cpc");
    assert_eq!(parts(&referral), (Some("reddit.com"), Some("Reddit"), Channel::PaidSocial));
    let referral = read(None, FIREFOX, "utm_medium=email");
    assert_eq!(parts(&referral), (None, None, Channel::Email));
}

#[test]
fn qr_code_is_the_channel_whatever_else_is_said() {
    let agent = Agent::read(Some(INSTAGRAM));
    let utm = Utm::read(Some("utm_source=poster&utm_medium=cpc"));
    let referral = Referral::read(Some("https://t.co/"), None, &agent, &utm, true);
    assert_eq!(parts(&referral), (Some("t.co"), Some("poster"), Channel::Qr));
    let referral = Referral::read(None, None, &Agent::read(Some(FIREFOX)), &Utm::default(), true);
    assert_eq!(parts(&referral), (None, None, Channel::Qr));
}

#[test]
fn names_of_channels_are_distinct() {
    let mut names = Channel::ALL.map(Channel::as_str);
    names.sort_unstable();
    assert!(names.is_sorted_by(|a, b| a < b));
}
