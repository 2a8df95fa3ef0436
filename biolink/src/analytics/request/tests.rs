use serde_json::Value;
use shared::request_id::RequestId;

use super::*;

fn parsed(query: &str) -> AnalyticsRequest {
    AnalyticsRequest::parse(Some(query)).unwrap_or_else(|problem| panic!("{query}: {}", problem.detail()))
}

/// Returns the name and the detail of every fault.
fn faults(query: &str) -> Vec<(String, String)> {
    let problem = AnalyticsRequest::parse(Some(query)).expect_err(query);
    assert_eq!(problem.code().as_str(), "fields-invalid", "{query}");
    let body: Value = serde_json::from_str(&problem.render(&RequestId([0; 16])).body).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let errors = body["errors"].as_array().unwrap_or_else(|| panic!("{query}: {body}")).iter();
    errors.map(|error| (text(&error["pointer"]).split_off(2), text(&error["detail"]))).collect()
}

/// Returns the only fault.
fn fault(query: &str) -> (String, String) {
    let faults = faults(query);
    assert_eq!(faults.len(), 1, "{query}: {faults:?}");
    faults.into_iter().next().unwrap()
}

#[test]
fn query_without_parameters_is_30_days_of_all_pages() {
    for query in [None, Some(""), Some("interval=30d&timezone=UTC&granularity=auto&limit=10&format=json")] {
        let request = AnalyticsRequest::parse(query).unwrap();
        assert_eq!(request, AnalyticsRequest::parse(None).unwrap(), "{query:?}");
        assert_eq!(request.period, Period::Interval(Interval::Days(30)));
        assert_eq!((request.pages(), request.timezone()), (&[][..], None));
    }
}

#[test]
fn every_fault_of_a_query_is_named_at_once() {
    let faults = faults(
        "page_id=x&interval=7days&start=tomorrow&end=2026-13-01&timezone=Middle%20Earth!&granularity=minute\
         &metrics=views,likes&group_by=referer,city&country=Germany&link=abc&limit=0&compare=last_year&format=xml&wat=1",
    );
    let names: Vec<_> = faults.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "page_id",
        "interval",
        "start",
        "end",
        "timezone",
        "granularity",
        "metrics",
        "group_by",
        "link",
        "country",
        "limit",
        "compare",
        "format",
        "wat",
    ];
    assert_eq!(names, expected);
}

#[test]
fn name_mistyped_gets_a_suggestion() {
    for (query, expected) in [
        ("group_by=referer", "`referer` is unknown; did you mean `referrer`?"),
        ("group_by=views,Country", "`views` is unknown; there are timeseries, page, link"),
        ("group_by=Country", "did you mean `country`?"),
        ("metrics=visitor", "did you mean `visitors`?"),
        ("interval=7", "`7` is unknown; there are 24h, 7d, 30d, 90d, mtd, today, yesterday"),
        ("interval=yesteday", "did you mean `yesterday`?"),
        ("granularity=days", "did you mean `day`?"),
        ("compare=previous-period", "did you mean `previous_period`?"),
        ("format=CSV", "did you mean `csv`?"),
        ("groupBy=link", "did you mean `group_by`?"),
        ("contry=DE", "did you mean `country`?"),
        ("tz=Europe/Berlin", "use timezone"),
        ("from=2026-01-01", "use start"),
        ("period=7d", "use interval, or start and end"),
        ("city=Berlin", "cities are not stored; use country"),
        ("event=click", "name what is counted in metrics"),
    ] {
        let (_, detail) = fault(query);
        assert!(detail.contains(expected), "{query}: {detail}");
    }
}

#[test]
fn parameters_that_contradict_are_refused() {
    for (query, name) in [
        ("interval=7d&start=2026-11-01", "interval"),
        ("end=2026-11-01", "end"),
        ("format=csv&group_by=link,country", "format"),
        ("format=csv&compare=previous_period", "compare"),
        ("metrics=views&group_by=link", "metrics"),
        ("metrics=views_confirmed&group_by=country", "metrics"),
        ("metrics=views,bots&country=DE", "metrics"),
        ("metrics=views,views_confirmed&source=-Instagram", "metrics"),
        ("group_by=bot_class&country=DE", "group_by"),
        ("metrics=clicks,views_confirmed&link=lnk_a", "metrics"),
        ("metrics=views_confirmed&group_by=qr_code", "metrics"),
    ] {
        assert_eq!(fault(query).0, name, "{query}");
    }
    parsed("metrics=bots,views&bot_class=ai-crawler&group_by=timeseries,bot_class");
    parsed("metrics=clicks,bots&group_by=link,country&link=lnk_a&qr_code=ada");
    parsed("metrics=bots&group_by=link,product,qr_code,bot_class&link=lnk_a");
}

#[test]
fn lists_longer_than_their_limit_are_refused() {
    let ids = |count: u8| -> String {
        let ids: Vec<_> = (0..count).map(|number| PageId::new([number; 12]).to_string()).collect();
        format!("page_id={}", ids.join(","))
    };
    assert_eq!(parsed(&ids(100)).pages().len(), 100);
    assert!(fault(&ids(101)).1.contains("has 101 pages; at most 100"));
    let names = GroupBy::ALL.map(GroupBy::as_str);
    assert_eq!(parsed(&format!("group_by={}", names[..8].join(","))).groups.len(), 8);
    assert!(fault(&format!("group_by={}", names[..9].join(","))).1.contains("has 9 groups; at most 8"));
    let values = vec!["x"; 101].join(",");
    assert!(fault(&format!("source={values}")).1.contains("has 101 values; at most 100"));
    for limit in ["0", "101", "-1", "ten", ""] {
        assert_eq!(fault(&format!("limit={limit}")).1, "must be a whole number from 1 to 100");
    }
}

#[test]
fn value_listed_twice_counts_once() {
    let page = PageId::new([7; 12]);
    assert_eq!(parsed(&format!("page_id={page},{page}")).pages(), [page]);
    assert_eq!(parsed("group_by=link,%20country,link").groups, [GroupBy::Link, GroupBy::Country]);
}

/// Four of seven generated clients repeat parameters, and axios adds brackets to their names.
#[test]
fn list_is_repeated_or_with_commas() {
    let page = |byte: u8| PageId::new([byte; 12]);
    let expected = parsed(&format!(
        "page_id={},{}&metrics=views,clicks,visitors&group_by=link,country&country=DE,US&source=-a,b",
        page(1),
        page(2),
    ));
    assert_eq!((expected.pages().len(), expected.groups.len(), expected.filters.len()), (2, 2, 2));
    for query in [
        "page_id=1&page_id=2&metrics=views&metrics=clicks&metrics=visitors&group_by=link&group_by=country&country=DE&country=US&source=-a&source=-b",
        "country=DE&group_by=link&page_id=1&metrics=views,clicks&source=-a&country=US&metrics=visitors&page_id=2&source=b&group_by=country",
        "page_id%5B%5D=1&page_id%5b%5d=2&metrics[]=views,clicks&metrics[]=visitors&group_by[]=link&group_by=country&country[]=DE&country[]=US&source[]=-a&source[]=b",
    ] {
        let query = query.replace("page_id=1", &format!("page_id={}", page(1)));
        let query = query.replace("D=1", &format!("D={}", page(1))).replace("d=2", &format!("d={}", page(2)));
        assert_eq!(parsed(&query), expected, "{query}");
    }
    assert!(fault("country=DE&country=").1.contains("a value after each comma"));
}

#[test]
fn parameter_of_one_value_sent_twice_is_refused() {
    for query in ["limit=1&limit=2", "interval=7d&interval=7d", "format=csv&limit=1&format=json"] {
        let problem = AnalyticsRequest::parse(Some(query)).unwrap_err();
        assert!(problem.detail().contains("comes twice"), "{query}: {}", problem.detail());
    }
    assert!(fault("limit[]=1").0.starts_with("limit"));
}

#[test]
fn filter_is_read_as_it_is_stored() {
    let filter = |query: &str| parsed(query).filters.into_iter().next().unwrap();
    let of = |by, values: &[&str], excludes| Filter {
        by,
        values: values.iter().map(|value| (*value).to_owned()).collect(),
        excludes,
    };
    assert_eq!(filter("country=de,%20us"), of(GroupBy::Country, &["DE", "US"], false));
    assert_eq!(filter("country=-de,(None)"), of(GroupBy::Country, &["DE", ""], true));
    assert_eq!(filter("country=-de,-us,-(none)"), of(GroupBy::Country, &["DE", "US", ""], true));
    assert_eq!(filter("source=--a,-b"), of(GroupBy::Source, &["-a", "b"], true));
    assert_eq!(filter("source=a,-b"), of(GroupBy::Source, &["a", "-b"], false));
    assert_eq!(filter("referrer=Instagram.com"), of(GroupBy::Referrer, &["instagram.com"], false));
    assert_eq!(filter("utm_campaign=Spring+Sale"), of(GroupBy::UtmCampaign, &["Spring Sale"], false));
    assert_eq!(filter("utm_campaign=A%2BB%20C"), of(GroupBy::UtmCampaign, &["A+B C"], false));
    assert!(fault("country=DE,,US").1.contains("a value after each comma"));
    assert!(fault("country=").1.contains("or (none) for events without one"));
    assert!(fault("country=Germany").1.contains("two-letter codes"));
    assert!(fault("link=prd_1").1.contains("begin with lnk_"));
}

#[test]
fn filter_accepts_its_values_or_all_others() {
    let accepts = |query: &str, column: &str| parsed(query).filters[0].accepts(column);
    assert!(accepts("country=DE,US", "DE") && !accepts("country=DE,US", "FR") && !accepts("country=DE", ""));
    assert!(!accepts("country=-DE", "DE") && accepts("country=-DE", "FR") && accepts("country=-DE", ""));
    assert!(accepts("country=(none)", "") && !accepts("country=-(none)", ""));
    assert!(
        accepts("link=lnk_a", "lnk_a") && !accepts("link=lnk_a", "prd_a") && accepts("link=-lnk_a", "prd_a")
    );
    assert!(accepts("bot_class=seo", "bot:seo") && !accepts("bot_class=seo", "head"));
}

/// Programs that do not encode the plus sign of an offset are understood.
#[test]
fn start_and_end_are_times_or_dates() {
    let period = |query: &str| parsed(query).period;
    let at = |text: &str| Moment::At(UnixMillis::from_rfc3339(text).unwrap());
    let expected = Period::Explicit { start: at("2026-11-01T07:00:00Z"), end: None };
    assert_eq!(period("start=2026-11-01T07:00:00Z"), expected);
    assert_eq!(period("start=2026-11-01T08:00:00%2B01:00"), expected);
    assert_eq!(period("start=2026-11-01T08:00:00+01:00"), expected);
    assert_eq!(period("start=2026-11-01T07:00:00.999Z"), expected);
    assert!(matches!(
        period("start=2026-11-01&end=2026-11-02"),
        Period::Explicit { start: Moment::Day(_), end: Some(Moment::Day(_)) }
    ));
    for text in ["2026-02-30", "2026-1-1", "1795354267", "now", "2026-11-01T08:00", ""] {
        assert!(fault(&format!("start={text}")).1.contains("2026-11-01T08:00:00Z (RFC 3339)"), "{text}");
    }
}

#[test]
fn timezone_is_an_iana_name() {
    for name in ["UTC", "utc", "Z", "Etc/UTC"] {
        assert_eq!(parsed(&format!("timezone={name}")).timezone(), None, "{name}");
    }
    for (name, expected) in [
        ("Europe/Berlin", "Europe/Berlin"),
        ("America%2FArgentina%2FBuenos_Aires", "America/Argentina/Buenos_Aires"),
        ("Etc/GMT%2B3", "Etc/GMT+3"),
        ("Etc/GMT+3", "Etc/GMT+3"),
    ] {
        assert_eq!(parsed(&format!("timezone={name}")).timezone(), Some(expected));
    }
    let long = "a".repeat(65);
    for name in ["", "Europe/B%C3%A9rlin", "a'b", long.as_str()] {
        assert!(fault(&format!("timezone={name}")).1.contains("such as Europe/Berlin"), "{name}");
    }
}

#[test]
fn live_takes_pages_and_nothing_else() {
    let page = PageId::new([7; 12]);
    let request = crate::analytics::LiveRequest::parse(Some(&format!("page_id={page}"))).unwrap();
    assert_eq!(request.pages(), [page]);
    let problem = crate::analytics::LiveRequest::parse(Some("interval=7d")).unwrap_err();
    assert!(problem.detail().contains("#/interval"), "{}", problem.detail());
}
