//! Authentication of a call by its key, and the decision of its quota, in direct mode.

use shared::problem::Problem;
use shared::quota::Decision;
use shared::request::Head;

use super::admitted::Admitted;
use crate::call::Record;
use crate::direct::{self, Direct, RequestScheme};
use crate::upstreams::Pool;

/// Verifies the key of a call, and decides by its quota. Counts the call unless it is denied.
///
/// # Errors
/// Returns a problem if the key is invalid, or the body is too large.
pub(super) fn admit(
    direct: &Direct,
    record: &mut Record,
    head: &Head<'_>,
    scheme: RequestScheme<'_>,
    pool: &Pool,
) -> Result<Admitted, Problem> {
    let key = direct::authenticate(head, scheme, &direct.config().signing)?;
    head.check_length(pool.config.settings.max_body)?;
    let decided = direct.call(&key, record.started)?;
    let (quota, charged, denied) = match decided.decision {
        Decision::Allow(quota) => (quota, Some(decided.day), None),
        Decision::Deny(denial, quota) => (quota, None, Some(denial.problem(&quota))),
    };
    record.log.quota = Some(quota);
    Ok(Admitted { key_id: key.id, tier: decided.tier, charged, denied })
}
