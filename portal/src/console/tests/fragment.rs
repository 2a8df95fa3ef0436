//! What the script takes for a view (`portal/assets/fragment.js`) is what views are made of.

use std::collections::BTreeMap;

use html5gum::{Token, Tokenizer};

use crate::endpoint::Endpoint;

const SCRIPT: &str = include_str!("../../../assets/fragment.js");

/// Returns the words of a set of the script.
fn words(name: &str) -> Vec<&'static str> {
    let (_, rest) = SCRIPT.split_once(&format!("const {name} = new Set(\"")).unwrap();
    rest.split_once('"').unwrap().0.split(' ').collect()
}

/// Returns the changes that the script sends: a method, and a path whose ids are asterisks.
fn changes() -> Vec<&'static str> {
    let (_, rest) = SCRIPT.split_once("const CHANGES = [").unwrap();
    rest.split_once(']').unwrap().0.split('"').skip(1).step_by(2).collect()
}

/// Returns the elements of a view with their attributes.
fn elements(html: &str) -> impl Iterator<Item = (String, BTreeMap<String, String>)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Tokenizer::new(html).flatten().filter_map(move |token| {
        let Token::StartTag(tag) = token else { return None };
        let attributes = tag.attributes.iter().map(|(name, value)| (text(name), text(value)));
        Some((text(&tag.name), attributes.collect()))
    })
}

/// Returns a path with an asterisk for each id or number.
fn shape(path: &str) -> String {
    let is_id =
        |part: &str| part.contains(['_', '{']) || part.starts_with(|first: char| first.is_ascii_digit());
    path.split('/').map(|part| if is_id(part) { "*" } else { part }).collect::<Vec<_>>().join("/")
}

/// Checks that the script takes a view: it knows its elements, their attributes and the changes of its forms.
pub(in crate::console) fn assert_known(html: &str) {
    let (known, attributes, data, changes) =
        (words("ELEMENTS"), words("ATTRIBUTES"), words("DATA"), changes());
    for (element, has) in elements(html) {
        assert!(known.contains(&element.as_str()), "<{element}>: {html}");
        for name in has.keys() {
            let is_known = match name.strip_prefix("data-") {
                Some(name) => data.contains(&name),
                None => attributes.contains(&name.as_str()),
            };
            assert!(is_known, "<{element} {name}>: {html}");
        }
        if let (Some(method), Some(action)) = (has.get("data-method"), has.get("data-action")) {
            let path = action.strip_suffix("?keep_products=true").unwrap_or(action);
            // Values that a test has made up may lack ids.
            let is_whole = !path.contains("//") && !path.ends_with('/') && !path.contains('"');
            let change = format!("{method} {}", shape(path));
            assert!(!is_whole || changes.contains(&change.as_str()), "{method} {action}: {html}");
        }
    }
}

#[test]
fn every_change_of_the_script_is_an_operation_of_the_api() {
    let operations: Vec<String> = Endpoint::all()
        .filter(|endpoint| !matches!(endpoint, Endpoint::CallTool(..)))
        .map(|endpoint| format!("{} {}", endpoint.method().as_str(), shape(&endpoint.path())))
        .collect();
    for change in changes() {
        assert!(operations.iter().any(|operation| operation == change), "{change}");
    }
}

#[test]
fn script_knows_nothing_that_runs_loads_or_leads_away() {
    let (elements, attributes) = (words("ELEMENTS"), words("ATTRIBUTES"));
    for element in
        ["base", "embed", "frame", "iframe", "img", "link", "meta", "object", "script", "style", "template"]
    {
        assert!(!elements.contains(&element), "{element}");
    }
    for attribute in ["action", "content", "formaction", "http-equiv", "src", "srcdoc", "style"] {
        assert!(!attributes.contains(&attribute), "{attribute}");
    }
    assert!(!attributes.iter().any(|name| name.starts_with("on")));
}
