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
    Bindgen::new()
        .input_path(wasm)
        .out_name("index")
        .module(true)?
        .omit_default_module_path(false)
        .reset_state_function(true)
        .force_enable_abort_handler(true)
        .generate(folder)
}
