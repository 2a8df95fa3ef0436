//! A call that comes from a client: its key says whose it is, and its quota whether it may be made.

use shared::{key::KeyId, problem::Problem, quota::Decision, request::Head, tier::Tier};

use crate::{
    clock,
    config::DirectConfig,
    ctx::RequestCtx,
    direct::{self, Direct, Way},
    pools::Pool,
};

/// Whose call it is, if it may be made. From here on it is counted.
pub(super) fn admit(
    direct: &Direct,
    config: &DirectConfig,
    ctx: &mut RequestCtx,
    head: &Head<'_>,
    way: Way<'_>,
    pool: &Pool,
) -> Result<(KeyId, Tier), Problem> {
    let key = direct::authenticate(head, way, &config.signing)?;
    head.check_length(pool.config.settings.max_body)?;
    let decided = direct.call(&key, clock::now())?;
    match decided.decision {
        Decision::Allow(standing) => {
            ctx.standing = Some(standing);
            ctx.charged = Some(decided.day);
            Ok((key.id, decided.tier))
        }
        Decision::Deny(denial, standing) => {
            ctx.standing = Some(standing);
            Err(denial.problem(&standing))
        }
    }
}
