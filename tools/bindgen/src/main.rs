//! Writes the JavaScript between a worker's wasm and the runtime, and the wasm that goes with it, into a
//! folder: `bindgen FILE.wasm FOLDER`.
//!
//! Does what `wasm-bindgen --target module` does, with the same library. The CLI takes longer to build,
//! because it contains an HTTP server for tests in browsers.

use std::{env, path::Path};

use anyhow::{Result, bail};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<()> {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let [wasm, folder] = arguments.as_slice() else { bail!("usage: bindgen FILE.wasm FOLDER") };
    write_bindings(Path::new(wasm), Path::new(folder))
}

/// Writes `index.js` and `index_bg.wasm`. They have what `entry.js` needs after a panic: a handler that
/// marks the instance as lost, and a function that replaces it.
fn write_bindings(wasm: &Path, folder: &Path) -> Result<()> {
    let mut output = Bindgen::new()
        .input_path(wasm)
        .out_name("index")
        .module(true)?
        .omit_default_module_path(false)
        .reset_state_function(true)
        .force_enable_abort_handler(true)
        .generate_output()?;
    let module = output.wasm_mut();
    let exports: Vec<_> = module.exports.iter().map(|export| export.name.clone()).collect();
    let imports: Vec<_> = module.imports.iter().map(|import| import.name.clone()).collect();
    // What only they call is removed by wasm-opt.
    for name in never_called(&exports, &imports) {
        module.exports.remove(name)?;
    }
    output.emit(folder)
}

/// Returns the exports that belong to classes of which there is never an object: JavaScript has no constructor for them, and no
/// code of the worker makes one. A crate exports its classes whether they are used or not.
fn never_called<'a>(exports: &'a [String], imports: &[String]) -> Vec<&'a str> {
    let classes = exports.iter().filter_map(|name| name.strip_prefix("__wbg_")?.strip_suffix("_free"));
    let is_made = |class: &str| {
        exports.iter().any(|name| *name == format!("{class}_new"))
            || imports.iter().any(|name| name.starts_with(&format!("__wbg_{class}_new")))
    };
    let unmade: Vec<_> = classes.filter(|class| !is_made(class)).collect();
    let is_of = |name: &str, class: &str| {
        let member =
            ["__wbg_get_", "__wbg_set_", "__wbg_"].iter().find_map(|prefix| name.strip_prefix(prefix));
        member.unwrap_or(name).strip_prefix(class).is_some_and(|rest| rest.starts_with('_'))
    };
    exports.iter().map(String::as_str).filter(|name| unmade.iter().any(|class| is_of(name, class))).collect()
}

#[cfg(test)]
mod tests {
    use super::never_called;

    #[test]
    fn members_of_classes_that_are_never_made_are_never_called() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let exports = names(&[
            "memory",
            "handle",
            "__wbg_meter_free",
            "meter_new",
            "meter_fetch",
            "__wbg_sink_free",
            "sink_write",
            "__wbg_made_free",
            "made_read",
            "__wbg_range_free",
            "__wbg_get_range_length",
            "__wbg_set_range_length",
            "rangefinder_find",
        ]);
        let imports = names(&["__wbg_made_new_0123", "__wbg_new_4567"]);
        assert_eq!(
            never_called(&exports, &imports),
            [
                "__wbg_sink_free",
                "sink_write",
                "__wbg_range_free",
                "__wbg_get_range_length",
                "__wbg_set_range_length"
            ]
        );
    }
}
