//! What `wrangler.toml` and `wrangler.pages.toml` give to the deployed workers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use shared::prices::Prices;
use tests::process::{binary, node};
use toml::{Table, Value};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(path)).unwrap()
}

/// The files of the gateway and of the worker with pages.
const FILES: [&str; 2] = ["wrangler.toml", "wrangler.pages.toml"];
/// The classes whose objects calls of tools need.
const CLASSES_OF_CALLS: [&str; 3] = ["Meter", "KeyChanges", "StatusHistory"];

/// Returns the configurations of the gateway and of the worker with pages.
fn both() -> [Table; 2] {
    FILES.map(|file| read(file).parse().unwrap())
}

/// Returns the sections of a file by name: the top level and every environment.
fn sections(config: &Table) -> Vec<(&str, &Table)> {
    [("", config)].into_iter().chain(environments(config)).collect()
}

/// Returns the name of the worker that a section of a file deploys.
fn worker_of(config: &Table, environment: &str, section: &Table) -> String {
    match section.get("name").and_then(Value::as_str) {
        Some(name) => name.to_owned(),
        None => format!("{}-{environment}", config["name"].as_str().unwrap()),
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

/// Returns the environments by name.
fn environments(config: &Table) -> Vec<(&str, &Table)> {
    let named = config["env"].as_table().unwrap().iter();
    named.map(|(name, section)| (name.as_str(), section.as_table().unwrap())).collect()
}

/// Returns the texts of a member of a list's entries.
fn names<'a>(list: &'a Value, member: &str) -> BTreeSet<&'a str> {
    list.as_array().unwrap().iter().map(|entry| text(entry, member)).collect()
}

/// Returns the variables of each section of both files.
fn variables(configs: &[Table]) -> Vec<&Table> {
    let all = configs.iter().flat_map(sections);
    all.map(|(_, section)| section["vars"].as_table().unwrap()).collect()
}

/// Returns the classes of a section's objects by the worker that owns them: `None` for its own.
fn owners(section: &Table) -> BTreeMap<&str, Option<&str>> {
    let bindings = section.get("durable_objects").and_then(|objects| objects.get("bindings"));
    let bindings = bindings.and_then(Value::as_array).unwrap();
    bindings
        .iter()
        .map(|binding| (text(binding, "class_name"), binding.get("script_name").and_then(Value::as_str)))
        .collect()
}

/// Returns the names of the bindings in a section's list.
fn bound<'a>(section: &'a Table, kind: &str) -> BTreeSet<&'a str> {
    section.get(kind).map(|list| names(list, "binding")).unwrap_or_default()
}

/// An environment inherits no binding and no variable. The worker refuses every request if one is
/// missing.
#[test]
fn environment_has_every_binding_of_the_top_level() {
    for config in both() {
        let environments = environments(&config);
        let listed: Vec<_> = environments.iter().map(|(name, _)| *name).collect();
        assert_eq!(listed, ["production", "staging"]);
        for (name, section) in environments {
            let (own, top) = (&section["durable_objects"], &config["durable_objects"]);
            for member in ["name", "class_name"] {
                assert_eq!(names(&own["bindings"], member), names(&top["bindings"], member), "{name}");
            }
            for kind in ["kv_namespaces", "r2_buckets", "services"] {
                assert_eq!(bound(section, kind), bound(&config, kind), "{name}");
            }
            let producers = |section: &Table| {
                section.get("queues").map(|queues| names(&queues["producers"], "binding").len())
            };
            assert_eq!(producers(section), producers(&config), "{name}");
            let (own, top) = (section["vars"].as_table().unwrap(), config["vars"].as_table().unwrap());
            let missing: Vec<_> = top.keys().filter(|variable| !own.contains_key(*variable)).collect();
            assert!(missing.is_empty(), "{name} lacks {missing:?}");
        }
    }
}

/// What holds for the gateway holds for the worker that serves the same address, and calls tools for MCP.
#[test]
fn both_workers_have_the_same_variables_and_settings() {
    let [gateway, pages] = both();
    for (own, other) in sections(&gateway).into_iter().zip(sections(&pages)) {
        assert_eq!((own.0, &own.1["vars"]), (other.0, &other.1["vars"]));
    }
    for key in ["compatibility_date", "compatibility_flags", "assets", "limits", "observability"] {
        assert_eq!(gateway[key], pages[key], "{key}");
    }
    assert!(bound(&pages, "kv_namespaces").is_superset(&bound(&gateway, "kv_namespaces")));
}

/// If the assets were asked first, they would respond in place of the worker, without its headers.
#[test]
fn worker_is_asked_before_its_assets() {
    for config in both() {
        let assets = &config["assets"];
        assert_eq!(assets["run_worker_first"], Value::Boolean(true));
        assert_eq!((text(assets, "binding"), text(assets, "html_handling")), ("ASSETS", "none"));
        let environments = environments(&config);
        assert!(environments.iter().all(|(_, section)| !section.contains_key("assets")), "all inherit them");
    }
}

/// Two environments with one queue would take each other's events.
#[test]
fn environment_consumes_the_queue_that_it_produces_and_no_other() {
    let [gateway, pages] = both();
    let settings = |queues: &Value| {
        let mut consumer = queues["consumers"][0].as_table().unwrap().clone();
        let queue = consumer.remove("queue").unwrap();
        let dead = consumer.remove("dead_letter_queue").unwrap();
        assert_eq!(dead.as_str().unwrap(), format!("{}-dead", queue.as_str().unwrap()));
        consumer
    };
    let mut queues = Vec::new();
    for (name, section) in sections(&pages) {
        let own = &section["queues"];
        assert_eq!(names(&own["producers"], "queue"), names(&own["consumers"], "queue"), "{name}");
        assert_eq!(settings(own), settings(&pages["queues"]), "{name}");
        queues.push(text(&own["producers"][0], "queue"));
    }
    assert_eq!(queues.iter().collect::<BTreeSet<_>>().len(), queues.len(), "{queues:?}");
    assert!(sections(&gateway).iter().all(|(_, section)| !section.contains_key("queues")));
}

/// Tool calls continue without the worker with pages, because the gateway owns what they need.
#[test]
fn each_class_is_owned_by_one_of_the_two_workers() {
    let [gateway, pages] = both();
    for ((name, own), (_, other)) in sections(&gateway).into_iter().zip(sections(&pages)) {
        let (worker, pages_worker) = (worker_of(&gateway, name, own), worker_of(&pages, name, other));
        for (class, owner) in owners(own) {
            let is_own = CLASSES_OF_CALLS.contains(&class);
            assert_eq!(owner, (!is_own).then_some(pages_worker.as_str()), "{class}");
        }
        for (class, owner) in owners(other) {
            let is_the_gateways = CLASSES_OF_CALLS.contains(&class);
            assert_eq!(owner, is_the_gateways.then_some(worker.as_str()), "{class}");
        }
    }
}

/// The names with which workers were deployed before each had a file. Under others they would have no key and no page.
#[test]
fn workers_of_production_have_the_names_under_which_they_were_deployed() {
    let [gateway, pages] = both();
    let name =
        |config: &Table| worker_of(config, "production", config["env"]["production"].as_table().unwrap());
    assert_eq!(name(&gateway), "unified-tool-gateway-production");
    assert_eq!(name(&pages), "unified-tool-gateway-production-pages");
}

/// Each worker has its own file, and the gateway hands over what it has not linked.
#[test]
fn each_worker_has_its_file_and_the_gateway_a_binding_to_the_other() {
    let [gateway, pages] = both();
    for (part, config) in [("gateway", &gateway), ("pages", &pages)] {
        assert_eq!(config["main"].as_str().unwrap(), format!("edge-worker/build/{part}/index.js"));
        assert_eq!(text(&config["build"], "command"), format!("WORKER={part} ./scripts/build-edge.sh"));
    }
    for ((name, own), (_, other)) in sections(&gateway).into_iter().zip(sections(&pages)) {
        let services = own["services"].as_array().unwrap();
        let bound: Vec<_> = services.iter().map(|one| (text(one, "binding"), text(one, "service"))).collect();
        assert_eq!(bound, [("PAGES_WORKER", worker_of(&pages, name, other).as_str())], "{name}");
        assert!(!other.contains_key("services"), "{name}");
    }
}

/// The worker with pages takes the objects of its classes from the gateway, which creates them: with what they have stored,
/// if one worker had everything before.
#[test]
fn pages_worker_takes_its_classes_from_the_gateway() {
    let [gateway, pages] = both();
    let [first, rest @ ..] = gateway["migrations"].as_array().unwrap().as_slice() else { panic!() };
    assert!(environments(&gateway).iter().all(|(_, section)| !section.contains_key("migrations")));
    for ((name, own), (_, other)) in sections(&gateway).into_iter().zip(sections(&pages)) {
        let [transfer, later @ ..] = other["migrations"].as_array().unwrap().as_slice() else { panic!() };
        let classes = &transfer["transferred_classes"];
        let own_classes = owners(other).into_iter().filter(|(_, owner)| owner.is_none());
        assert_eq!(names(classes, "from"), own_classes.map(|(class, _)| class).collect(), "{name}");
        assert_eq!(names(classes, "from"), names(classes, "to"), "{name}");
        let worker = worker_of(&gateway, name, own);
        assert_eq!(names(classes, "from_script"), BTreeSet::from([worker.as_str()]), "{name}");
        assert_eq!(text(transfer, "tag"), text(first, "tag"), "it is in place of the first");
        assert_eq!(later, rest, "later migrations stand in both files");
    }
}

/// A class without a migration, or with one for the other kind of storage, cannot be deployed.
#[test]
fn every_object_class_has_a_migration_to_sqlite() {
    let [gateway, pages] = both();
    let bound = names(&pages["durable_objects"]["bindings"], "class_name");
    let migrations = gateway["migrations"].as_array().unwrap();
    let created = migrations.iter().flat_map(|migration| migration["new_sqlite_classes"].as_array().unwrap());
    assert_eq!(created.map(|class| class.as_str().unwrap()).collect::<BTreeSet<_>>(), bound);
    let tags = migrations.iter().map(|migration| text(migration, "tag").to_owned());
    let expected: Vec<_> = (1..=migrations.len()).map(|number| format!("v{number}")).collect();
    assert_eq!(tags.collect::<Vec<_>>(), expected);
}

/// An origin that stands in the file would be deployed by whoever forgets to replace it.
#[test]
fn no_section_has_an_origin() {
    for variables in variables(&both()) {
        assert!(!variables.contains_key("ORIGIN_URLS"), "{variables:?}");
    }
}

/// With the first, the worker calls the loopback interface, and everything without encryption. With
/// the second, it takes keys that anybody on the way can read.
#[test]
fn no_section_has_a_variable_for_development() {
    for variables in variables(&both()) {
        for name in ["ALLOW_PRIVATE_FETCH", "ALLOW_HTTP"] {
            assert!(!variables.contains_key(name), "{name} is for development only");
        }
    }
}

/// The platform's own log has the URL, the address and the user agent of each request. Its spans have the
/// URL.
#[test]
fn deployed_worker_keeps_no_invocation_logs_or_traces() {
    for config in both() {
        assert_eq!(config["observability"]["logs"]["invocation_logs"], Value::Boolean(false));
        assert_eq!(config["observability"]["traces"]["enabled"], Value::Boolean(false));
        for (name, section) in environments(&config) {
            assert!(!section.contains_key("observability"), "{name} inherits what is recorded");
            assert!(section["vars"].get("ACCESS_LOG_SAMPLE").is_some(), "{name} samples successes");
        }
    }
}

#[test]
fn deployed_worker_has_a_limit_on_cpu_time() {
    for config in both() {
        assert!(config["limits"]["cpu_ms"].as_integer().is_some_and(|limit| limit > 0));
        assert!(environments(&config).iter().all(|(_, section)| !section.contains_key("limits")));
    }
}

/// Without this flag a fetch of a host of the zone would go past Cloudflare's front door.
#[test]
fn deployed_worker_calls_its_zone_through_the_front_door() {
    for config in both() {
        let flags = config["compatibility_flags"].as_array().unwrap();
        assert!(flags.contains(&Value::String("global_fetch_strictly_public".to_owned())), "{flags:?}");
        assert!(
            environments(&config).iter().all(|(_, section)| !section.contains_key("compatibility_flags"))
        );
    }
}

/// A call would cost something else at the edge than in direct mode.
#[test]
fn prices_are_those_of_the_file_for_proxies() {
    let file: serde_json::Value = toml::from_str(&read("conf/prices.toml")).unwrap();
    let expected = Prices::read(&file).unwrap();
    let configs = both();
    let prices: Vec<_> =
        variables(&configs).into_iter().filter_map(|variables| variables.get("PRICES")).collect();
    let environments: usize = configs.iter().map(|config| environments(config).len()).sum();
    assert_eq!(prices.len(), environments, "each environment has them");
    for prices in prices {
        let prices = Prices::from_json(prices.as_str().unwrap()).unwrap();
        assert_eq!(prices, expected, "run node scripts/prices.mjs");
    }
}

#[test]
fn script_writes_prices_into_every_environment() {
    let folder = tempfile::tempdir().unwrap();
    let prices = folder.path().join("prices.toml");
    let configs = FILES.map(|name| folder.path().join(name));
    for (config, name) in configs.iter().zip(FILES) {
        fs::write(config, read(name)).unwrap();
    }
    let run = |text: &str| {
        fs::write(&prices, text).unwrap();
        let mut script = Command::new(node());
        script.arg("scripts/prices.mjs").arg(&prices).args(&configs).env("PROXY", binary("proxy"));
        script.current_dir(ROOT).output().unwrap()
    };
    let output = run("[qr]\nread = 10\n\"*\" = { at_most = 60 }\n");
    assert!(output.status.success(), "{output:?}");
    let expected = r#"{"qr":{"*":{"at_most":60},"read":10}}"#;
    let texts = || configs.each_ref().map(|config| fs::read_to_string(config).unwrap());
    let written = texts().map(|text| text.parse::<Table>().unwrap());
    let written: Vec<_> = variables(&written).into_iter().filter_map(|own| own.get("PRICES")).collect();
    assert_eq!(written, vec![&Value::from(expected); 4]);
    let before = texts();
    let refused = run("[qr]\nread = -1\n");
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(String::from_utf8(refused.stderr).unwrap().contains("qr.read must be a whole number"));
    assert_eq!(texts(), before);
}
