//! The manifests of `conf/`, as those who publish their schemas read them, and the configurations in them as the proxy does.

use std::{fs, process::Command};

use serde_json::Value;
use shared::tool::Tool;
use tests::process::{binary, root};

use super::run;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn python(program: &str) -> Command {
    Command::new(root().join(".tools/python/bin").join(program))
}

/// Returns the documents of a YAML file.
fn documents(file: &str) -> Vec<Value> {
    let script = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))";
    serde_json::from_str(&run(python("python").args(["-c", script, file]))).unwrap()
}

/// Returns the effective configuration, in seconds where it is a duration.
fn effective(configuration: &str) -> toml::Table {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("proxy.toml");
    fs::write(&file, configuration).unwrap();
    let mut command = Command::new(binary("proxy"));
    let command = command
        .arg("-c")
        .arg(&file)
        .arg("--dump-config")
        .env("DATA_CENTRE", "fra1")
        .env("TOOLS_DOMAIN", "tools");
    let secrets = ["GRANT_SECRET", "KEY_SIGNING_SECRET", "ADMIN_SECRET"];
    run(command.envs(secrets.map(|name| (name, SECRET)))).parse().unwrap()
}

fn seconds(duration: &toml::Value) -> u64 {
    duration.as_str().unwrap().strip_suffix('s').unwrap().parse().unwrap()
}

/// Graceful shutdown takes `drain_delay` and `grace` at most.
fn shutdown(server: &toml::Value) -> u64 {
    seconds(&server["drain_delay"]) + seconds(&server["grace"])
}

fn port(address: &toml::Value) -> u64 {
    address.as_str().unwrap().rsplit_once(':').unwrap().1.parse().unwrap()
}

#[test]
fn kubernetes_manifest_is_valid_and_agrees_with_its_configuration() {
    run(python("kubernetes-validate").args(["--strict", "conf/kubernetes.yaml"]));
    let documents = documents("conf/kubernetes.yaml");
    let of_kind = |kind: &str| documents.iter().find(|document| document["kind"] == kind).unwrap();
    let configuration = effective(of_kind("ConfigMap")["data"]["proxy.toml"].as_str().unwrap());
    assert_eq!(configuration["pools"].as_table().unwrap().len(), Tool::ALL.len());

    let server = &configuration["server"];
    let pod = &of_kind("Deployment")["spec"]["template"];
    assert!(pod["spec"]["terminationGracePeriodSeconds"].as_u64().unwrap() > shutdown(server));
    let container = &pod["spec"]["containers"][0];
    for (name, address) in [("http", &server["listen"]), ("admin", &server["admin"])] {
        let named = container["ports"].as_array().unwrap().iter().find(|port| port["name"] == name).unwrap();
        assert_eq!(named["containerPort"], port(address), "{name}");
    }
    for selector in [
        &of_kind("Deployment")["spec"]["selector"]["matchLabels"],
        &of_kind("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        &of_kind("NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
        &of_kind("Service")["spec"]["selector"],
    ] {
        assert_eq!(selector, &pod["metadata"]["labels"]);
    }
    // A pool's server is the name of a headless Service.
    let headless = documents.iter().find(|document| document["spec"]["clusterIP"] == "None").unwrap();
    let name = headless["metadata"]["name"].as_str().unwrap();
    let server = format!("{name}.tools:{}", headless["spec"]["ports"][0]["port"]);
    assert_eq!(configuration["pools"][name]["upstreams"][0].as_str(), Some(&*server));
}

#[test]
fn compose_file_is_valid_and_agrees_with_its_configuration() {
    run(python("check-jsonschema").args(["--builtin-schema", "vendor.compose-spec", "conf/compose.yaml"]));
    let file = &documents("conf/compose.yaml")[0];
    // As compose reads it, in which `$$` is a `$`.
    let configuration = file["configs"]["proxy"]["content"].as_str().unwrap().replace("$$", "$");
    assert!(!configuration.contains("$$"));
    let configuration = effective(&configuration);

    let (server, proxy) = (&configuration["server"], &file["services"]["proxy"]);
    let grace = proxy["stop_grace_period"].as_str().unwrap().strip_suffix('s').unwrap();
    assert!(grace.parse::<u64>().unwrap() > shutdown(server));
    assert!(proxy["ports"][0].as_str().unwrap().ends_with(&format!(":{}", port(&server["listen"]))));
    let limits = configuration["valkey"]["servers"][0].as_str().unwrap();
    assert!(file["services"].get(limits.split(':').next().unwrap()).is_some(), "{limits}");
}
