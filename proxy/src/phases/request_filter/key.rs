//! A call that comes from a client: its key says whose it is, and its quota whether it may be made.

use shared::{key::KeyId, problem::Problem, quota::Decision, request::Head, tier::Tier, time::UtcDay};

use crate::{
    call::Record,
    config::DirectConfig,
    direct::{self, Direct, RequestScheme},
    upstreams::Pool,
};

/// Whose call it is, and whether the quota allows it.
pub(super) struct Admitted {
    pub(super) key_id: KeyId,
    pub(super) tier: Tier,
    /// The day on which the call is counted; `None` if it is denied.
    pub(super) charged: Option<UtcDay>,
    /// Why it is denied, if it is.
    pub(super) denied: Option<Problem>,
}

/// Verifies the key of a call and asks its quota. A call that is not denied is counted from here on.
pub(super) fn admit(
    direct: &Direct,
    config: &DirectConfig,
    record: &mut Record,
    head: &Head<'_>,
    way: RequestScheme<'_>,
    pool: &Pool,
) -> Result<Admitted, Problem> {
    let key = direct::authenticate(head, way, &config.signing)?;
    head.check_length(pool.config.settings.max_body)?;
    let decided = direct.call(&key, record.started.time)?;
    let (standing, charged, denied) = match decided.decision {
        Decision::Allow(standing) => (standing, Some(decided.day), None),
        Decision::Deny(denial, standing) => (standing, None, Some(denial.problem(&standing))),
    };
    record.log.standing = Some(standing);
    Ok(Admitted { key_id: key.id, tier: decided.tier, charged, denied })
}
