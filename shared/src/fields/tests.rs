use super::*;

fn detail(body: &str) -> String {
    Fields::read(body.as_bytes()).err().map(|problem| problem.detail().to_owned()).unwrap_or_default()
}

#[test]
fn member_sent_twice_is_refused() {
    assert!(detail(r#"{"tier":"free","tier":"enterprise"}"#).contains("each member once"));
}

#[test]
fn body_that_is_not_an_object_is_refused_without_quoting_it() {
    for body in ["", "[]", "\"hush\"", "{\"a\":hush}", "{} hush"] {
        let detail = detail(body);
        assert!(!detail.is_empty() && !detail.contains("hush"), "{body}: {detail}");
    }
}

#[test]
fn every_error_is_collected_and_a_typo_gets_a_suggestion() {
    let mut fields = Fields::read(br#"{"emial":"x","name":7}"#).unwrap();
    assert_eq!(fields.required("email", |value| text(value).map(str::to_owned)), None);
    assert_eq!(fields.required("name", |value| text(value).map(str::to_owned)), None);
    let problem = fields.finish().unwrap_err();
    let body = problem.render(&crate::request_id::RequestId([0; 16])).body;
    assert!(body.contains("#/email") && body.contains("must be a string, not a number"), "{body}");
    assert!(body.contains("did you mean `email`?"), "{body}");
}

#[test]
fn edit_distance_counts_single_edits() {
    assert_eq!(edit_distance("kitten", "sitting"), 3);
    assert_eq!(edit_distance("", "abc"), 3);
    assert_eq!(edit_distance("same", "same"), 0);
}
