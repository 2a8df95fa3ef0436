//! The sample configurations in `conf/`.

use std::collections::BTreeSet;

use config::{Authority, Callers};
use shared::{origin::RESPONSE_TIMEOUT_MS, tool::Tool};

use super::{conf, parse};

#[test]
fn sample_for_one_machine_uses_loopback_only() {
    let config = parse(&conf("proxy.toml")).unwrap_or_else(|faults| panic!("{faults}"));
    let loopback = [config.server.listen, config.server.admin].map(|address| address.ip().is_loopback());
    assert_eq!(loopback, [true, true]);
    let ports: BTreeSet<_> = Tool::ALL.iter().map(|&tool| config.pools[tool].upstreams[0].port).collect();
    assert_eq!(ports, (9100..9117).collect());
}

#[test]
fn sample_for_a_data_center_has_two_upstreams_per_tool() {
    let config = parse(&conf("proxy.edge.toml")).unwrap_or_else(|faults| panic!("{faults}"));
    assert_eq!(config.server.data_center, "fra1");
    for tool in Tool::ALL {
        let pool = &config.pools[tool];
        let hosts: BTreeSet<_> = pool.upstreams.iter().map(|upstream| upstream.host.as_str()).collect();
        assert_eq!(hosts.len(), 2, "{tool}");
        assert!(hosts.iter().all(|host| host.starts_with(&format!("{tool}-"))), "{hosts:?}");
        let answer = pool.settings.answer_timeout;
        assert!(answer.as_millis() < u128::from(RESPONSE_TIMEOUT_MS), "{tool}: the edge would give up first");
        assert!(answer < config.server.grace, "{tool}: a restart would cut calls off");
    }
}

#[test]
fn sample_for_direct_mode_issues_keys_on_loopback() {
    let config = parse(&conf("proxy.direct.toml")).unwrap_or_else(|faults| panic!("{faults}"));
    assert!(config.server.listen.ip().is_loopback());
    let Callers::Clients(keys) = &config.callers else { panic!("{:?}", config.callers) };
    assert!(matches!(&keys.authority, Authority::Here { admin: Some(_), .. }), "{keys:?}");
    assert!(!keys.behind_tls);
    let ports: BTreeSet<_> = Tool::ALL.iter().map(|&tool| config.pools[tool].upstreams[0].port).collect();
    assert_eq!(ports, (9100..9117).collect());
}
