//! A call that comes from a client: its key says whose it is, and its quota whether it may be made.

use shared::{key::KeyId, problem::Problem, quota::Decision, request::Head, tier::Tier};

use crate::{
    config::DirectConfig,
    ctx::RequestCtx,
    direct::{self, Direct, RequestScheme},
    upstreams::Pool,
};

/// Whose call it is, and why it is denied if it is. One that is not is counted from here on.
pub(super) fn admit(
    direct: &Direct,
    config: &DirectConfig,
    ctx: &mut RequestCtx,
    head: &Head<'_>,
    way: RequestScheme<'_>,
    pool: &Pool,
) -> Result<(KeyId, Tier, Option<Problem>), Problem> {
    let key = direct::authenticate(head, way, &config.signing)?;
    head.check_length(pool.config.settings.max_body)?;
    let decided = direct.call(&key, ctx.started.time)?;
    match decided.decision {
        Decision::Allow(standing) => {
            ctx.standing = Some(standing);
            ctx.charged = Some(decided.day);
            Ok((key.id, decided.tier, None))
        }
        Decision::Deny(denial, standing) => {
            ctx.standing = Some(standing);
            Ok((key.id, decided.tier, Some(denial.problem(&standing))))
        }
    }
}
