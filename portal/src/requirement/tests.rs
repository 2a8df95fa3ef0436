use std::collections::BTreeMap;

use serde_json::Value;

use super::*;
use crate::openapi;

const PAGE: &str = include_str!("../../../docs/security.md");

fn words(requirement: Requirement) -> String {
    let scope = match requirement {
        Requirement::Nothing => return "nothing".to_owned(),
        Requirement::AnySecret => return "any secret".to_owned(),
        Requirement::ScopesOfSecret => return "`keys`, and the scopes of the secret".to_owned(),
        Requirement::EveryScope => return "every scope".to_owned(),
        Requirement::AdminSecret => return "the admin secret".to_owned(),
        Requirement::GrantSecret => return "the grant secret".to_owned(),
        Requirement::Signature => return "the signature of the shop".to_owned(),
        Requirement::Scope(scope) => scope,
    };
    match scope.to_string().split_once(':') {
        Some(("tools", _)) => "`tools: {tool}`".to_owned(),
        Some((product, level)) => format!("`{product}: {level}`"),
        None => format!("`{scope}`"),
    }
}

/// Returns what each operation of the descriptions requires, by its id.
fn required() -> BTreeMap<String, String> {
    let documents = [openapi::document("https://s"), openapi::biolink::document("https://s")];
    let described = |endpoint: Endpoint| -> Option<Value> {
        let (path, method) = (endpoint.path(), endpoint.method().as_str().to_lowercase());
        documents.iter().map(|document| document["paths"][&path][&method].clone()).find(Value::is_object)
    };
    let row = |endpoint: Endpoint| {
        let operation = described(endpoint)?;
        let (id, needs) = (operation["operationId"].as_str().unwrap().to_owned(), endpoint.requires());
        let text = operation["description"].as_str().unwrap_or_default();
        let admin = Requirement::Scope(Scope::BiolinkAdmin);
        assert_eq!(text.contains("Needs the scope `biolink: admin`."), needs == admin, "{id}: {text}");
        let id = match endpoint {
            Endpoint::CallTool(tool, _) => id.replace(tool.as_str(), "{tool}"),
            _ => id,
        };
        Some((id, words(needs)))
    };
    Endpoint::all().filter_map(row).collect()
}

#[test]
fn security_model_names_each_operation_once() {
    let rows = PAGE.split_once("| needs | operations |").unwrap().1.split("\n\n").next().unwrap().lines();
    let rows = rows.filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    let named = rows.flat_map(|(needs, ids)| ids.split('`').skip(1).step_by(2).map(move |id| (id, needs)));
    let named: Vec<_> = named.map(|(id, needs)| (id.to_owned(), needs.to_owned())).collect();
    let required = required();
    assert!(required.len() > 90, "{}", required.len());
    assert_eq!(named.len(), required.len());
    assert_eq!(named.into_iter().collect::<BTreeMap<_, _>>(), required);
}

/// Whatever has power over an account is beyond those who read and write it.
#[test]
fn secrets_export_and_erasure_need_the_scope_of_administration() {
    let needs_admin = |endpoint: &Endpoint| endpoint.requires().scope() == Some(Scope::BiolinkAdmin);
    let found: Vec<_> = Endpoint::all().filter(needs_admin).map(Endpoint::path).collect();
    let secret = "/webhooks/{webhook_id}/secret";
    assert_eq!(found, ["/account/export", "/account/data", secret, &format!("{secret}/rotate")]);
}
