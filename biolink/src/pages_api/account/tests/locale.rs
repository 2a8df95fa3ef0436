//! The language of a page whose owner does not name one.

use super::*;
use crate::page::document::Locale;

/// Creates a page, as a client with this language. Returns it.
fn created(world: &mut World, client: Option<&str>, members: &str) -> (PageId, Value) {
    let call = world.call_of(1, Operation::Create(format!(r#"{{"title":"Ada"{members}}}"#)));
    let reply = world.run(Call { locale: client.and_then(Locale::parse), ..call });
    assert_eq!(reply.status, 201, "{}", reply.body);
    (PageId::parse(reply.body["id"].as_str().unwrap()).unwrap(), reply.body)
}

fn locale(page: &Value) -> &str {
    page["locale"].as_str().unwrap()
}

#[test]
fn page_without_a_locale_has_that_of_the_account() {
    let mut world = World::default();
    let mut make = |client, members| locale(&created(&mut world, client, members).1).to_owned();
    // A script that says nothing is no sign of English.
    assert_eq!(make(None, ""), "en");
    assert_eq!(make(Some("pl-PL"), ""), "pl-PL", "by the request");
    assert_eq!(make(Some("en-US"), ""), "pl-PL", "by the other page, before the request");
    assert_eq!(make(None, r#","locale":null"#), "pl-PL");
    assert_eq!(make(None, r#","locale":"sv""#), "sv", "as it says");
    assert_eq!(make(None, ""), "pl-PL", "as most pages: four to one");
    for _ in 0..5 {
        assert_eq!(make(Some("de"), r#","locale":"sv""#), "sv");
    }
    assert_eq!(make(None, ""), "sv", "as most pages: six to four");
}

#[test]
fn page_of_two_languages_as_many_has_the_newest() {
    for (first, second) in [("ja", "ko"), ("ko", "ja")] {
        let mut world = World::default();
        created(&mut world, None, &format!(r#","locale":"{first}""#));
        created(&mut world, None, &format!(r#","locale":"{second}""#));
        assert_eq!(locale(&created(&mut world, Some("de"), "").1), second);
    }
}

#[test]
fn page_that_is_there_keeps_its_locale() {
    let mut world = World::default();
    let (page, _) = created(&mut world, None, "");
    created(&mut world, None, r#","locale":"tr""#);
    created(&mut world, None, r#","locale":"tr""#);
    for edit in [
        PageEdit::Replace(r#"{"title":"Ada"}"#.to_owned()),
        PageEdit::Replace(r#"{"title":"Lovelace"}"#.to_owned()),
        PageEdit::Patch(r#"{"title":"Byron"}"#.to_owned()),
        PageEdit::Publish,
    ] {
        let reply = world.edit(1, page, edit.clone());
        assert_eq!((reply.status, locale(&reply.body)), (200, "en"), "{edit:?}");
    }
    let chosen = world.edit(1, page, PageEdit::Patch(r#"{"locale":"nl"}"#.to_owned()));
    assert_eq!(locale(&chosen.body), "nl");
    let replaced = world.edit(1, page, PageEdit::Replace(r#"{"title":"Ada"}"#.to_owned()));
    assert_eq!(locale(&replaced.body), "nl");
    // A language that its owner has changed counts from then on.
    for _ in 0..3 {
        let (other, _) = created(&mut world, None, r#","locale":"es""#);
        world.edit(1, other, PageEdit::Patch(r#"{"locale":"nl"}"#.to_owned()));
    }
    assert_eq!(locale(&created(&mut world, None, "").1), "nl");
}
