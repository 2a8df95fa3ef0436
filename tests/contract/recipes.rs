//! The receivers that the guide on webhooks shows against the programs that are tested.

use std::fs;

use tests::{process::root, recipe::Recipe};

/// Returns the guide's section on receivers.
fn section() -> String {
    let guide = fs::read_to_string(root().join("docs/webhooks.md")).unwrap();
    let (_, section) = guide.split_once("\n## Receivers\n").unwrap();
    section.split("\n## ").next().unwrap().to_owned()
}

/// Shows it in a block of code, or names the program. A link would lead to no file of a release.
#[test]
fn guide_shows_each_receiver_as_it_is_tested() {
    let section = section();
    for recipe in Recipe::ALL {
        let program = fs::read_to_string(root().join(recipe.path())).unwrap();
        match section.split_once(&format!("```{}\n", recipe.fence())) {
            Some((_, block)) => assert_eq!(block.split("```").next().unwrap(), program, "{}", recipe.path()),
            None => assert!(section.contains(&format!("`{}`", recipe.path())), "{}", recipe.path()),
        }
    }
    assert!(section.contains("```js\n"), "none is shown");
}
