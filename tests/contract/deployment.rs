//! What `wrangler.toml` gives to a deployed worker.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use shared::prices::Prices;
use tests::process::binary;
use toml::{Table, Value};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(path)).unwrap()
}

fn wrangler() -> Table {
    read("wrangler.toml").parse().unwrap()
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

/// Returns the variables of each section: the top level and every environment.
fn variables(config: &Table) -> Vec<&Table> {
    let sections = environments(config).into_iter().map(|(_, section)| section);
    sections.chain([config]).map(|section| section["vars"].as_table().unwrap()).collect()
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

/// An environment inherits no binding and no variable. The worker refuses every request if one is
/// missing.
#[test]
fn environment_has_every_binding_of_the_top_level() {
    let config = wrangler();
    let environments = environments(&config);
    let listed: Vec<_> = environments.iter().map(|(name, _)| *name).collect();
    assert_eq!(listed, ["production", "production-gateway", "production-pages", "staging"]);
    for (name, section) in environments {
        let (own, top) = (&section["durable_objects"], &config["durable_objects"]);
        for member in ["name", "class_name"] {
            assert_eq!(names(&own["bindings"], member), names(&top["bindings"], member), "{name}");
        }
        let (own, top) = (&section["kv_namespaces"], &config["kv_namespaces"]);
        assert_eq!(names(own, "binding"), names(top, "binding"), "{name}");
        let (own, top) = (&section["queues"], &config["queues"]);
        assert_eq!(names(&own["producers"], "binding"), names(&top["producers"], "binding"), "{name}");
        let (own, top) = (section["vars"].as_table().unwrap(), config["vars"].as_table().unwrap());
        let missing: Vec<_> = top.keys().filter(|variable| !own.contains_key(*variable)).collect();
        assert!(missing.is_empty(), "{name} lacks {missing:?}");
    }
}

/// If the assets were asked first, they would respond in place of the worker, without its headers.
#[test]
fn worker_is_asked_before_its_assets() {
    let config = wrangler();
    let assets = &config["assets"];
    assert_eq!(assets["run_worker_first"], Value::Boolean(true));
    assert_eq!((text(assets, "binding"), text(assets, "html_handling")), ("ASSETS", "none"));
    assert!(
        environments(&config).iter().all(|(_, section)| !section.contains_key("assets")),
        "all inherit them"
    );
}

/// Two environments with one queue would take each other's events.
#[test]
fn environment_consumes_the_queue_that_it_produces_and_no_other() {
    let config = wrangler();
    let settings = |queues: &Value| {
        let mut consumer = queues["consumers"][0].as_table().unwrap().clone();
        let queue = consumer.remove("queue").unwrap();
        let dead = consumer.remove("dead_letter_queue").unwrap();
        assert_eq!(dead.as_str().unwrap(), format!("{}-dead", queue.as_str().unwrap()));
        consumer
    };
    let mut queues = vec![text(&config["queues"]["producers"][0], "queue")];
    // Those of two workers have production's.
    let whole = environments(&config).into_iter().filter(|(name, _)| !name.starts_with("production-"));
    for (name, section) in whole {
        let own = &section["queues"];
        assert_eq!(names(&own["producers"], "queue"), names(&own["consumers"], "queue"), "{name}");
        assert_eq!(settings(own), settings(&config["queues"]), "{name}");
        queues.push(text(&own["producers"][0], "queue"));
    }
    assert_eq!(queues.iter().collect::<BTreeSet<_>>().len(), queues.len(), "{queues:?}");
}

/// Tool calls go on without the worker of the pages' host, because the gateway owns what they need.
#[test]
fn two_workers_own_each_class_once_and_consume_the_queue_once() {
    let config = wrangler();
    let section = |name: &str| config["env"][name].as_table().unwrap();
    let [one, gateway, pages] = ["", "-gateway", "-pages"].map(|part| section(&format!("production{part}")));
    let worker = format!("{}-production", config["name"].as_str().unwrap());
    let pages_worker = format!("{worker}-pages");
    assert_eq!(gateway["name"].as_str(), Some(worker.as_str()), "the worker that has the meters");
    for (class, owner) in owners(gateway) {
        let is_own = ["Meter", "KeyChanges", "StatusHistory"].contains(&class);
        let owners = (owner, owners(pages)[class]);
        let other = |name| (!is_own).then_some(name);
        assert_eq!(owners, (other(pages_worker.as_str()), is_own.then_some(worker.as_str())), "{class}");
    }
    assert!(owners(one).values().all(Option::is_none));
    let queues = |section: &Table, side: &str| section["queues"].get(side).cloned();
    assert_eq!((queues(gateway, "consumers"), queues(pages, "consumers")), (None, queues(one, "consumers")));
    for section in [gateway, pages] {
        assert_eq!(queues(section, "producers"), queues(one, "producers"));
    }
}

/// Each of two Workers has its own file, and the gateway hands over what it has not linked.
#[test]
fn two_workers_have_a_file_each_and_the_gateway_a_binding_to_the_other() {
    let config = wrangler();
    for part in ["gateway", "pages"] {
        let section = config["env"][format!("production-{part}")].as_table().unwrap();
        assert_eq!(section["main"].as_str().unwrap(), format!("edge-worker/build/{part}/index.js"));
        assert_eq!(text(&section["build"], "command"), format!("WORKER={part} ./scripts/build-edge.sh"));
    }
    let services = config["env"]["production-gateway"]["services"].as_array().unwrap();
    let pages_worker = format!("{}-production-pages", config["name"].as_str().unwrap());
    let bound: Vec<_> = services.iter().map(|one| (text(one, "binding"), text(one, "service"))).collect();
    assert_eq!(bound, [("PAGES_WORKER", pages_worker.as_str())]);
    assert!(!config["env"]["production-pages"].as_table().unwrap().contains_key("services"));
}

/// The worker of the pages' host takes the objects that production has, with what they have stored.
#[test]
fn pages_worker_takes_its_classes_from_production() {
    let config = wrangler();
    let pages = config["env"]["production-pages"].as_table().unwrap();
    let [transfer, later @ ..] = pages["migrations"].as_array().unwrap().as_slice() else { panic!() };
    let classes = &transfer["transferred_classes"];
    let own = owners(pages).into_iter().filter(|(_, owner)| owner.is_none()).map(|(class, _)| class);
    assert_eq!(names(classes, "from"), own.collect());
    assert_eq!(names(classes, "from"), names(classes, "to"));
    let worker = format!("{}-production", config["name"].as_str().unwrap());
    assert_eq!(names(classes, "from_script"), BTreeSet::from([worker.as_str()]));
    let [first, rest @ ..] = config["migrations"].as_array().unwrap().as_slice() else { panic!() };
    assert_eq!(text(transfer, "tag"), text(first, "tag"), "it is in place of the first");
    assert_eq!(later, rest, "later migrations stand in both lists");
}

/// A class without a migration, or with one for the other kind of storage, cannot be deployed.
#[test]
fn every_object_class_has_a_migration_to_sqlite() {
    let config = wrangler();
    let bound = names(&config["durable_objects"]["bindings"], "class_name");
    let migrations = config["migrations"].as_array().unwrap();
    let created = migrations.iter().flat_map(|migration| migration["new_sqlite_classes"].as_array().unwrap());
    assert_eq!(created.map(|class| class.as_str().unwrap()).collect::<BTreeSet<_>>(), bound);
    let tags = migrations.iter().map(|migration| text(migration, "tag").to_owned());
    let expected: Vec<_> = (1..=migrations.len()).map(|number| format!("v{number}")).collect();
    assert_eq!(tags.collect::<Vec<_>>(), expected);
}

/// An origin that stands in the file would be deployed by whoever forgets to replace it.
#[test]
fn no_section_has_an_origin() {
    for variables in variables(&wrangler()) {
        assert!(!variables.contains_key("ORIGIN_URLS"), "{variables:?}");
    }
}

/// With the first, the worker calls the loopback interface, and everything without encryption. With
/// the second, it takes keys that anybody on the way can read.
#[test]
fn no_section_has_a_variable_for_development() {
    for variables in variables(&wrangler()) {
        for name in ["ALLOW_PRIVATE_FETCH", "ALLOW_HTTP"] {
            assert!(!variables.contains_key(name), "{name} is for development only");
        }
    }
}

/// The platform's own log has the URL, the address and the user agent of each request. Its spans have the
/// URL.
#[test]
fn deployed_worker_keeps_no_invocation_logs_or_traces() {
    let config = wrangler();
    assert_eq!(config["observability"]["logs"]["invocation_logs"], Value::Boolean(false));
    assert_eq!(config["observability"]["traces"]["enabled"], Value::Boolean(false));
    for (name, section) in environments(&config) {
        assert!(!section.contains_key("observability"), "{name} inherits what is recorded");
        assert!(section["vars"].get("ACCESS_LOG_SAMPLE").is_some(), "{name} samples successes");
    }
}

#[test]
fn deployed_worker_has_a_limit_on_cpu_time() {
    let config = wrangler();
    assert!(config["limits"]["cpu_ms"].as_integer().is_some_and(|limit| limit > 0));
    assert!(environments(&config).iter().all(|(_, section)| !section.contains_key("limits")));
}

/// Without this flag a fetch of a host of the zone would go past Cloudflare's front door.
#[test]
fn deployed_worker_calls_its_zone_through_the_front_door() {
    let config = wrangler();
    let flags = config["compatibility_flags"].as_array().unwrap();
    assert!(flags.contains(&Value::String("global_fetch_strictly_public".to_owned())), "{flags:?}");
    assert!(environments(&config).iter().all(|(_, section)| !section.contains_key("compatibility_flags")));
}

/// A call would cost something else at the edge than in direct mode.
#[test]
fn prices_are_those_of_the_file_for_proxies() {
    let file: serde_json::Value = toml::from_str(&read("conf/prices.toml")).unwrap();
    let expected = Prices::read(&file).unwrap();
    let config = wrangler();
    let prices: Vec<_> =
        variables(&config).into_iter().filter_map(|variables| variables.get("PRICES")).collect();
    assert_eq!(prices.len(), environments(&config).len(), "each environment has them");
    for prices in prices {
        let prices = Prices::from_json(prices.as_str().unwrap()).unwrap();
        assert_eq!(prices, expected, "run node scripts/prices.mjs");
    }
}

#[test]
fn script_writes_prices_into_every_environment() {
    let folder = tempfile::tempdir().unwrap();
    let [prices, config] = ["prices.toml", "wrangler.toml"].map(|name| folder.path().join(name));
    fs::write(&config, read("wrangler.toml")).unwrap();
    let run = |text: &str| {
        fs::write(&prices, text).unwrap();
        let mut script = Command::new("node");
        script.arg("scripts/prices.mjs").args([&prices, &config]).env("PROXY", binary("proxy"));
        script.current_dir(ROOT).output().unwrap()
    };
    let output = run("[qr]\nread = 10\n\"*\" = { at_most = 60 }\n");
    assert!(output.status.success(), "{output:?}");
    let written: Table = fs::read_to_string(&config).unwrap().parse().unwrap();
    let expected = r#"{"qr":{"*":{"at_most":60},"read":10}}"#;
    let written: Vec<_> = variables(&written).into_iter().filter_map(|own| own.get("PRICES")).collect();
    assert_eq!(written, vec![&Value::from(expected); 4]);
    let before = fs::read(&config).unwrap();
    let refused = run("[qr]\nread = -1\n");
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(String::from_utf8(refused.stderr).unwrap().contains("qr.read must be a whole number"));
    assert_eq!(fs::read(&config).unwrap(), before);
}
