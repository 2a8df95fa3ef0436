//! The manifests of `conf/`, as those who publish their schemas read them, and the configurations in them as the proxy does.

use std::{
    fs,
    process::{Command, Stdio},
};

use serde_json::Value;
use shared::tool::Tool;
use tests::{
    process::{binary, root},
    redis::free_port,
    wait::{PATIENCE, wait_for},
};

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
        .env("DATA_CENTER", "fra1")
        .env("TOOLS_DOMAIN", "tools");
    let secrets = ["GRANT_SECRET", "KEY_SIGNING_SECRET", "ADMIN_SECRET", "VALKEY_PASSWORD"];
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
    assert_eq!(configuration["valkey"]["password"].as_str(), Some("${VALKEY_PASSWORD}"));
    for (name, service) in file["services"].as_object().unwrap() {
        let needed = service["depends_on"].as_object().into_iter().flatten();
        for (other, condition) in needed.filter(|(_, condition)| condition["condition"] == "service_healthy")
        {
            assert!(file["services"][other].get("healthcheck").is_some(), "{name}: {other} {condition}");
        }
    }
}

/// A variable that is empty or forgotten is an error of `docker compose`, and no empty secret.
#[test]
fn compose_file_starts_with_no_empty_secret() {
    let text = fs::read_to_string(root().join("conf/compose.yaml")).unwrap().replace("$$", "");
    let variables: Vec<_> = text.split("${").skip(1).map(|rest| rest.split('}').next().unwrap()).collect();
    assert!(variables.len() > 4, "{variables:?}");
    for variable in variables {
        assert!(variable.ends_with(":?"), "${{{variable}}}");
    }
}

/// The server's configuration and health check of the file, with a real server.
#[test]
fn valkey_of_the_compose_file_is_healthy_with_its_password_only() {
    let file = &documents("conf/compose.yaml")[0];
    let folder = tempfile::tempdir().unwrap();
    let (port, config) = (free_port().to_string(), folder.path().join("valkey.conf"));
    let content = file["configs"]["valkey"]["content"].as_str().unwrap();
    fs::write(&config, content.replace("${VALKEY_PASSWORD:?}", SECRET)).unwrap();
    let mut server = Command::new("redis-server");
    let server = server.arg(&config).args(["--port", &port]).current_dir(folder.path()).stdout(Stdio::null());
    let mut server = server.spawn().unwrap();
    let check = file["services"]["valkey"]["healthcheck"]["test"][1].as_str().unwrap();
    let check = check.replace("$$", "$").replace("valkey-cli", &format!("redis-cli -p {port}"));
    let is_healthy = |password: &str| {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", &check]).env("REDISCLI_AUTH", password).stderr(Stdio::null());
        shell.status().unwrap().success()
    };
    wait_for(PATIENCE, || is_healthy(SECRET).then_some(()));
    assert!(!is_healthy("another"));
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(!is_healthy(SECRET), "a server that is gone");
}

#[test]
fn pod_monitor_selects_the_pods_of_the_deployment() {
    let monitor = &documents("conf/podmonitor.yaml")[0];
    let pods = documents("conf/kubernetes.yaml");
    let deployment = pods.iter().find(|document| document["kind"] == "Deployment").unwrap();
    let pod = &deployment["spec"]["template"];
    assert_eq!(monitor["spec"]["selector"]["matchLabels"], pod["metadata"]["labels"]);
    let endpoint = &monitor["spec"]["podMetricsEndpoints"][0];
    let ports = pod["spec"]["containers"][0]["ports"].as_array().unwrap();
    assert!(ports.iter().any(|port| port["name"] == endpoint["port"]), "{endpoint}");
    assert_eq!(endpoint["path"], "/metrics");
}
