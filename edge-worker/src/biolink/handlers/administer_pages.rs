//! Administration of pages: suspends and restores them and their accounts, replaces the deny list of
//! hosts, and lists reports.

use biolink::page::{PageId, Slug};
use biolink::pages_api::{
    Decision, DeniedHosts, Operation, ReportsQuery, account_unavailable, check_no_query, page_not_known,
};
use biolink::route::{AdminCall, AdminEndpoint, AdminTarget};
use shared::key::KeyId;
use shared::problem::Problem;
use shared::response::Response;

use super::pages_api;
use crate::biolink::{denied_hosts, page_store, pages_client, reports, suspensions};
use crate::caller::{Answer, Caller};
use crate::context::RequestContext;
use crate::gateway::{authenticate, meter_client};
use crate::runtime::log;

pub(crate) async fn handle(
    context: &RequestContext<'_>,
    called: &AdminCall<'_>,
    query: Option<&str>,
) -> Answer {
    authenticate::authorize_admin(context).await?;
    let body = pages_api::read_body(context, called.endpoint.has_body()).await?;
    let (account, page) = match called.target {
        AdminTarget::Service if called.endpoint == AdminEndpoint::ListReports => {
            let query = ReportsQuery::read(query)?;
            return Ok(query.response(&reports::call(context, &query.message()).await?)?.into());
        }
        AdminTarget::Service => {
            return Ok(change_denied_hosts(context, called.endpoint, query, &body).await?.into());
        }
        AdminTarget::Page(page) => (account_of(context, page).await?, Some(page)),
        AdminTarget::Slug(slug) => {
            let slug = Slug::parse(slug).map_err(|_| page_not_known())?;
            let owner = pages_client::owner(context, &slug).await?.ok_or_else(page_not_known)?;
            (owner.account, Some(owner.page))
        }
        // The key may have been issued into the account of another one.
        AdminTarget::Account(key) => (meter_client::read_record(context, &key).await?.account(), None),
    };
    let caller = Caller::about(account);
    let operation = caller.check(Operation::administer(called.endpoint, page, query, &body))?;
    let call = pages_api::call(context, account, operation, [0; 16]);
    let decision = caller.check(pages_client::call(context, account, call).await)?;
    // So that the operator sees the change at once in the location that made it.
    suspensions::forget(&account);
    caller.answer(match decision {
        Decision::Reply(reply) => Ok(reply.into_response()),
        // The account handles each operation of an operator itself.
        Decision::Admit(_) => Err(account_unavailable()),
    })
}

async fn account_of(context: &RequestContext<'_>, page: PageId) -> Result<KeyId, Problem> {
    match page_store::account_of(&context.biolink()?.pages, page).await {
        Ok(account) => account.ok_or_else(page_not_known),
        Err(error) => {
            log::error(log::Event("page index read failed"), Some(context.request.id), &[("error", &error)]);
            Err(account_unavailable())
        }
    }
}

async fn change_denied_hosts(
    context: &RequestContext<'_>,
    endpoint: AdminEndpoint,
    query: Option<&str>,
    body: &[u8],
) -> Result<Response, Problem> {
    check_no_query(query)?;
    if endpoint == AdminEndpoint::ReplaceDeniedHosts {
        return Ok(denied_hosts::replace(context, DeniedHosts::read(body)?).await?.response());
    }
    Ok(denied_hosts::read(context).await?.response())
}
