//! The checks of a run as JUnit XML, which systems of continuous integration read.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::{Report, RunEnd};
use crate::clock;
use crate::verdict::Check;

/// Returns a test suite with a case for each check. A run that ended early is a case that is an error.
pub(crate) fn to_junit(report: &Report) -> String {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    // Writing to a vector never fails.
    let _infallible = write(report, &mut writer);
    String::from_utf8_lossy(&writer.into_inner()).into_owned() + "\n"
}

fn write(report: &Report, writer: &mut Writer<Vec<u8>>) -> io::Result<()> {
    let error = match &report.end {
        RunEnd::Planned => None,
        RunEnd::Interrupted => Some("the run was interrupted".to_owned()),
        RunEnd::Broken(error) => Some(error.clone()),
        RunEnd::Aborted(check) => Some(format!("a check could no longer pass: {check}")),
    };
    let tests = (report.checks.len() + usize::from(error.is_some())).to_string();
    let failures = report.checks.iter().filter(|check| !check.passed).count().to_string();
    let errors = usize::from(error.is_some()).to_string();
    let seconds = report.run.seconds.to_string();
    let started = clock::rfc3339(report.run.started_unix_ms);
    let name = text(&report.run.scenario);
    let counts =
        [("tests", tests.as_str()), ("failures", &failures), ("errors", &errors), ("time", &seconds)];
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let suites = writer.create_element("testsuites").with_attributes(counts);
    suites.write_inner_content(|writer| {
        let suite = writer.create_element("testsuite").with_attribute(("name", name.as_str()));
        let suite = suite.with_attributes(counts).with_attribute(("timestamp", started.as_str()));
        suite.write_inner_content(|writer| {
            report.checks.iter().try_for_each(|check| case(check, &name, writer))?;
            let Some(error) = &error else { return Ok(()) };
            let case = writer.create_element("testcase").with_attribute(("classname", name.as_str()));
            let case = case.with_attribute(("name", "the run is complete"));
            case.write_inner_content(|writer| {
                let message = text(error);
                writer.create_element("error").with_attribute(("message", message.as_str())).write_empty()?;
                Ok(())
            })?;
            Ok(())
        })?;
        Ok(())
    })?;
    Ok(())
}

fn case(check: &Check, scenario: &str, writer: &mut Writer<Vec<u8>>) -> io::Result<()> {
    let (name, found) = (text(&check.check), text(&check.found));
    let case = writer.create_element("testcase");
    let case = case.with_attributes([("classname", scenario), ("name", name.as_str())]);
    case.write_inner_content(|writer| {
        if check.passed {
            writer.create_element("system-out").write_text_content(BytesText::new(&found))?;
        } else {
            writer.create_element("failure").with_attribute(("message", found.as_str())).write_empty()?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Returns a text without the characters that XML cannot have.
fn text(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{RunInfo, RunOutcome};
    use crate::summary::Summary;

    #[test]
    fn checks_are_cases_and_an_early_end_is_an_error() {
        let checks =
            vec![Check::new("errors=0", true, "0"), Check::new("p99<=50ms & \"more\"", false, "60 ms\u{1}")];
        let run = RunInfo { scenario: "a<b".to_owned(), seconds: 10.0, ..RunInfo::default() };
        let outcome = RunOutcome { checks, end: RunEnd::Broken("gone".to_owned()), ..RunOutcome::default() };
        let xml = to_junit(&Report::new(run, outcome, &Summary::default()));
        for part in [
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
            "tests=\"3\" failures=\"1\" errors=\"1\" time=\"10\"",
            "<testsuite name=\"a&lt;b\"",
            "name=\"p99&lt;=50ms &amp; &quot;more&quot;\"",
            "<failure message=\"60 ms\"/>",
            "<error message=\"gone\"/>",
        ] {
            assert!(xml.contains(part), "{part}\n{xml}");
        }
        assert_eq!(xml.matches("<testcase").count(), 3, "{xml}");
    }
}
