//! The tests that `docs/security.md` names.

use std::fs;

use tests::process::root;

#[test]
fn test_that_the_security_model_names_exists() {
    let page = fs::read_to_string(root().join("docs/security.md")).unwrap();
    let rows = page.lines().filter(|line| {
        line.starts_with("- `") && ["rs", "mjs"].iter().any(|kind| line.contains(&format!(".{kind}`: `")))
    });
    let mut found = 0;
    for row in rows {
        let mut names = row.split('`').skip(1).step_by(2);
        let file = names.next().unwrap();
        let source = fs::read_to_string(root().join(file)).unwrap_or_default();
        for test in names {
            found += 1;
            let has = [format!("fn {test}("), format!("test(\"{test}\"")]
                .iter()
                .any(|start| source.contains(start));
            assert!(has, "{file} has no test `{test}`");
        }
    }
    assert!(found > 60, "{found} tests");
}
