//! What `wrangler.toml` gives to a deployed worker.

use std::{collections::BTreeSet, fs, path::Path};

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

/// An environment inherits no binding and no variable. The worker refuses every request if one is
/// missing.
#[test]
fn environment_has_every_binding_of_the_top_level() {
    let config = wrangler();
    let environments = environments(&config);
    let listed: Vec<_> = environments.iter().map(|(name, _)| *name).collect();
    assert_eq!(listed, ["production", "staging"]);
    for (name, section) in environments {
        assert_eq!(section["durable_objects"], config["durable_objects"], "{name}");
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
    for (name, section) in environments(&config) {
        let own = &section["queues"];
        assert_eq!(names(&own["producers"], "queue"), names(&own["consumers"], "queue"), "{name}");
        assert_eq!(settings(own), settings(&config["queues"]), "{name}");
        queues.push(text(&own["producers"][0], "queue"));
    }
    assert_eq!(queues.iter().collect::<BTreeSet<_>>().len(), queues.len(), "{queues:?}");
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

/// The platform's own log has the URL, the address and the user agent of each request.
#[test]
fn deployed_worker_keeps_no_invocation_logs() {
    let config = wrangler();
    assert_eq!(config["observability"]["logs"]["invocation_logs"], Value::Boolean(false));
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
