//! The import graph of a crate, read from its source: which module names which other one, and the
//! circles among them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io, iter,
    path::Path,
};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A module, which is one file, and the modules whose items it names.
#[derive(Debug)]
pub struct Module {
    /// The path from the crate's root: `key::record`; empty for the root.
    pub name: String,
    /// Paths of other modules, as deep as they are modules. Code under `#[cfg(test)]` does not
    /// count, nor do re-exports (`pub use`) of a module's own children.
    pub imports: BTreeSet<String>,
}

impl Module {
    /// Returns the name of the top-level module that this one belongs to.
    #[must_use]
    pub fn top(&self) -> &str {
        room(&self.name)
    }
}

/// A file: its tokens without tests, and the items that it re-exports from its children, by name.
struct Source {
    tokens: Vec<TokenTree>,
    exports: BTreeMap<String, Vec<String>>,
}

/// Reads all modules of the crate whose sources are in `folder`.
///
/// # Errors
/// Returns an error if a file cannot be read or is not Rust.
pub fn modules(folder: &Path) -> io::Result<Vec<Module>> {
    let mut sources = BTreeMap::new();
    read_folder(folder, &mut Vec::new(), &mut sources)?;
    let imports = |path: &Vec<String>, source: &Source| {
        let named = paths(&source.tokens).into_iter().filter_map(|named| absolute(path, named, &sources));
        let resolved = named.map(|named| resolve(named, &sources));
        resolved.filter(|other| other != path && !other.is_empty()).map(|other| other.join("::")).collect()
    };
    Ok(sources
        .iter()
        .map(|(path, source)| Module { name: path.join("::"), imports: imports(path, source) })
        .collect())
}

/// Returns the modules that a module reaches by imports, itself only through a circle.
#[must_use]
pub fn reach<'a>(modules: &'a [Module], from: &str) -> BTreeSet<&'a str> {
    let (mut seen, mut open) = (BTreeSet::new(), imports_of(modules, from));
    while let Some(name) = open.pop() {
        if seen.insert(name) {
            open.extend(imports_of(modules, name));
        }
    }
    seen
}

fn imports_of<'a>(modules: &'a [Module], name: &str) -> Vec<&'a str> {
    let found = modules.iter().find(|module| module.name == name);
    found.into_iter().flat_map(|module| module.imports.iter().map(String::as_str)).collect()
}

/// Returns the circles: groups of modules in which each one reaches every other one by imports.
#[must_use]
pub fn circles(modules: &[Module]) -> Vec<Vec<&str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        modules.iter().map(|module| (module.name.as_str(), reach(modules, &module.name))).collect();
    let mut groups: BTreeSet<Vec<&str>> = BTreeSet::new();
    for (name, seen) in reached.iter().filter(|(name, seen)| seen.contains(**name)) {
        let mutual = |other: &&&str| {
            seen.contains(**other) && reached.get(**other).is_some_and(|back| back.contains(name))
        };
        groups.insert(reached.keys().filter(mutual).copied().collect());
    }
    groups.into_iter().collect()
}

/// Returns the top-level modules, each with the other ones that any of its files names. The root is
/// not one: it only puts them together.
#[must_use]
pub fn rooms(modules: &[Module]) -> Vec<Module> {
    let mut rooms: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for module in modules.iter().filter(|module| !module.name.is_empty()) {
        let others = module.imports.iter().map(|import| room(import)).filter(|other| *other != module.top());
        rooms.entry(module.top()).or_default().extend(others.map(str::to_owned));
    }
    rooms.into_iter().map(|(name, imports)| Module { name: name.to_owned(), imports }).collect()
}

fn room(module: &str) -> &str {
    module.split("::").next().unwrap_or_default()
}

fn read_folder(
    folder: &Path,
    path: &mut Vec<String>,
    sources: &mut BTreeMap<Vec<String>, Source>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let file = entry?.path();
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if file.is_dir() {
            // Programs beside the library are crates of their own.
            if name != "bin" {
                path.push(name);
                read_folder(&file, path, sources)?;
                path.pop();
            }
        } else if file.extension().is_some_and(|extension| extension == "rs") && name != "main" {
            let own: Vec<_> = path.iter().cloned().chain((name != "lib").then_some(name)).collect();
            let source = read_source(&fs::read_to_string(&file)?)
                .map_err(|fault| io::Error::other(format!("{}: {fault}", file.display())))?;
            sources.insert(own, source);
        }
    }
    Ok(())
}

fn read_source(text: &str) -> Result<Source, proc_macro2::LexError> {
    let tokens = without_tests(text.parse::<TokenStream>()?);
    let mut exports = BTreeMap::new();
    let mut own = Vec::new();
    let mut rest = tokens.into_iter().peekable();
    let mut public = false;
    while let Some(token) = rest.next() {
        if is_word(&token, "use") && public {
            let item: Vec<_> = iter::from_fn(|| rest.next_if(|token| !is_sign(token, ';'))).collect();
            // What another module has is imported, although it is also passed on.
            if item.first().is_some_and(|first| is_word(first, "crate") || is_word(first, "super")) {
                own.push(token);
                own.extend(item.iter().cloned());
            }
            for mut named in trees(&item) {
                if matches!(named.first().map(String::as_str), Some("self")) {
                    named.remove(0);
                }
                // A single name is an item of this module itself, such as a macro.
                if named.len() < 2 || matches!(named.first().map(String::as_str), Some("crate" | "super")) {
                    continue;
                }
                exports.extend(named.last().cloned().map(|last| (last, named)));
            }
        } else {
            let visibility =
                matches!(&token, TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis);
            public = is_word(&token, "pub") || public && visibility;
            own.push(token);
        }
    }
    Ok(Source { tokens: own, exports })
}

/// Leaves out items under `#[cfg(test)]`, at every depth that a module has.
fn without_tests(stream: TokenStream) -> Vec<TokenTree> {
    let mut kept = Vec::new();
    let mut tokens = stream.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let test = is_sign(&token, '#')
            && tokens.peek().is_some_and(|next| next.to_string().replace(' ', "") == "[cfg(test)]");
        if !test {
            kept.push(token);
            continue;
        }
        for token in tokens.by_ref() {
            let body = matches!(&token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
            if body || is_sign(&token, ';') {
                break;
            }
        }
    }
    kept
}

/// Returns every path that begins with `crate`, `super` or `self`, and every path of a `use`, those
/// within braces too.
fn paths(tokens: &[TokenTree]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            found.extend(paths(&group.stream().into_iter().collect::<Vec<_>>()));
        }
        let begins = is_word(token, "crate") || is_word(token, "super") || is_word(token, "self");
        let before = place.checked_sub(1).and_then(|before| tokens.get(before));
        let inside = before.is_some_and(|before| is_sign(before, ':'));
        let used = before.is_some_and(|before| is_word(before, "use"));
        let goes_on = tokens.get(place + 1).is_some_and(|next| is_sign(next, ':'));
        if (begins && !inside || used) && goes_on {
            found.extend(trees(tokens.get(place..).unwrap_or_default()));
        }
    }
    found
}

/// Reads one path, or a tree of them as `use` has it, into paths.
fn trees(tokens: &[TokenTree]) -> Vec<Vec<String>> {
    let mut path = Vec::new();
    let mut rest = tokens.iter().peekable();
    loop {
        match rest.next() {
            Some(TokenTree::Ident(name)) => path.push(name.to_string()),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<_> = group.stream().into_iter().collect();
                let branches = inner.split(|token| is_sign(token, ',')).filter(|branch| !branch.is_empty());
                let whole = |branch| path.iter().cloned().chain(branch).collect();
                return branches.flat_map(trees).map(whole).collect();
            }
            _ => break,
        }
        let colons =
            rest.next_if(|token| is_sign(token, ':')).and_then(|_| rest.next_if(|token| is_sign(token, ':')));
        if colons.is_none() {
            break;
        }
    }
    vec![path]
}

/// Returns the path from the crate's root, or `None` for a path into another crate.
fn absolute(
    module: &[String],
    named: Vec<String>,
    sources: &BTreeMap<Vec<String>, Source>,
) -> Option<Vec<String>> {
    let mut base = module.to_vec();
    let mut named = named.into_iter().peekable();
    let first = named.next()?;
    match first.as_str() {
        "crate" => base.clear(),
        "super" => {
            base.pop()?;
            while named.next_if(|name| name == "super").is_some() {
                base.pop()?;
            }
        }
        "self" => {}
        _ => {
            base.push(first);
            sources.contains_key(&base).then_some(())?;
        }
    }
    Some(base.into_iter().chain(named.filter(|name| name != "self")).collect())
}

/// Follows a path through modules and re-exports to the module that has its item.
fn resolve(named: Vec<String>, sources: &BTreeMap<Vec<String>, Source>) -> Vec<String> {
    let mut module = Vec::new();
    let mut rest = named.into_iter();
    while let Some(name) = rest.next() {
        let deeper: Vec<_> = module.iter().cloned().chain([name.clone()]).collect();
        if sources.contains_key(&deeper) {
            module = deeper;
            continue;
        }
        if let Some(exported) = sources.get(&module).and_then(|source| source.exports.get(&name)) {
            let whole = module.iter().cloned().chain(exported.iter().cloned()).chain(rest).collect();
            return resolve(whole, sources);
        }
        break;
    }
    module
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(name) if *name == word)
}

fn is_sign(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}
