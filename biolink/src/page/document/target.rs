//! Targets of a link: other destinations for visitors from a country, with a device or of a language.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::{
    page::WebUrl,
    visitor::{Agent, Device, language},
};

/// A destination for some visitors. All conditions that it has must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkTarget {
    /// Its name in reports, at most 40 characters; `None` is made of the conditions.
    pub name: Option<String>,
    /// ISO 3166-1, two capital letters. Empty for every country.
    pub countries: Vec<String>,
    /// Empty for every device.
    pub devices: Vec<DeviceClass>,
    /// Primary language subtags in lower case. Empty for every language.
    pub languages: Vec<String>,
    /// The destination.
    pub url: Option<WebUrl>,
}

/// The destination of a link whose time is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fallback {
    /// The destination.
    pub url: WebUrl,
}

/// A class of devices that a target is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names say what each one is")]
pub enum DeviceClass {
    Ios,
    Android,
    Mobile,
    Tablet,
    Desktop,
    Tv,
}

shared::named!(DeviceClass);

/// The visitor of a link, as far as the request says it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Follower<'a> {
    /// ISO 3166-1, two letters, as the platform has found it.
    pub country: Option<&'a str>,
    /// `User-Agent`.
    pub user_agent: Option<&'a str>,
    /// `Accept-Language`.
    pub languages: Option<&'a str>,
}

impl LinkTarget {
    /// Returns true if the target is for this visitor.
    pub fn suits(&self, follower: &Follower<'_>) -> bool {
        let is_listed = |list: &[String], value: Option<&str>| {
            list.is_empty() || value.is_some_and(|value| list.iter().any(|it| it.eq_ignore_ascii_case(value)))
        };
        is_listed(&self.countries, follower.country)
            && (self.languages.is_empty()
                || is_listed(&self.languages, language(follower.languages).as_deref()))
            && (self.devices.is_empty() || {
                let agent = Agent::read(follower.user_agent);
                self.devices.iter().any(|class| class.has(&agent))
            })
    }

    /// Returns the name, or the conditions as text.
    pub fn label(&self) -> String {
        let devices = self.devices.iter().map(|device| device.as_str());
        let conditions = self.countries.iter().chain(&self.languages).map(String::as_str).chain(devices);
        self.name.clone().unwrap_or_else(|| conditions.collect::<Vec<_>>().join(" "))
    }
}

impl DeviceClass {
    fn has(self, agent: &Agent) -> bool {
        match self {
            Self::Ios => matches!(agent.os, Some("iOS" | "iPadOS")),
            Self::Android => agent.os == Some("Android"),
            Self::Mobile => agent.device == Device::Mobile,
            Self::Tablet => agent.device == Device::Tablet,
            Self::Desktop => agent.device == Device::Desktop,
            Self::Tv => agent.device == Device::Tv,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IPHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1";

    fn target(countries: &[&str], devices: &[DeviceClass], languages: &[&str]) -> LinkTarget {
        let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
        let (countries, languages) = (texts(countries), texts(languages));
        LinkTarget { countries, devices: devices.to_vec(), languages, ..LinkTarget::default() }
    }

    #[test]
    fn target_suits_visitors_for_whom_all_conditions_hold() {
        let visitor =
            Follower { country: Some("DE"), user_agent: Some(IPHONE), languages: Some("fr-CH,de;q=0.5") };
        for (target, suits) in [
            (target(&["AT", "DE"], &[], &[]), true),
            (target(&["AT"], &[], &[]), false),
            (target(&[], &[DeviceClass::Ios], &[]), true),
            (target(&[], &[DeviceClass::Android, DeviceClass::Mobile], &[]), true),
            (target(&[], &[DeviceClass::Desktop], &[]), false),
            (target(&[], &[], &["fr"]), true),
            (target(&[], &[], &["de"]), false),
            (target(&["DE"], &[DeviceClass::Ios], &["fr"]), true),
            (target(&["DE"], &[DeviceClass::Ios], &["it"]), false),
        ] {
            assert_eq!(target.suits(&visitor), suits, "{target:?}");
            let is_unconditional = target.countries.is_empty() && target.languages.is_empty();
            assert!(is_unconditional || !target.suits(&Follower::default()), "nothing is known");
        }
    }

    #[test]
    fn label_is_the_name_or_the_conditions() {
        let target = target(&["DE", "AT"], &[DeviceClass::Ios], &["de"]);
        assert_eq!(target.label(), "DE AT de ios");
        assert_eq!(LinkTarget { name: Some("App".to_owned()), ..target }.label(), "App");
    }
}
