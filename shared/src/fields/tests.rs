use super::*;

fn detail(body: &str) -> String {
    Fields::read(body.as_bytes()).err().map(|problem| problem.detail().to_owned()).unwrap_or_default()
}

#[test]
fn member_sent_twice_is_refused() {
    for body in [
        r#"{"tier":"free","tier":"enterprise"}"#,
        r#"{"limits":{"minute":1,"minute":2}}"#,
        r#"{"links":[null,true,-1,1.5,"a",[{"url":"a","url":"b"}]]}"#,
    ] {
        assert!(detail(body).contains("each member once"), "{body}");
    }
}

#[test]
fn body_is_read_as_serde_json_reads_it() {
    let body = r#"{"a":[null,true,-1,7,1.5,1e300,"\u00fc",{"b":{"c":[]},"d":{}}],"e":18446744073709551615}"#;
    let members = Fields::read(body.as_bytes()).unwrap().into_members();
    assert_eq!(Value::Object(members), serde_json::from_str::<Value>(body).unwrap());
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
