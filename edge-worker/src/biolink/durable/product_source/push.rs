//! Takes in what a shop pushes.

use biolink::product_feed::PriceRules;
use biolink::product_sync::{PushReply, PushRequest, Pushed, Source, read_push};
use shared::key::{BiolinkPlan, KeyId};
use worker::Result;

use super::{Parts, ProductSource};
use crate::bindings;
use crate::gateway::key_store;
use crate::runtime::{clock, log};

impl ProductSource {
    /// Verifies a push and takes it in. The products are on the page when this returns, unless the
    /// page was edited a moment ago: then the alarm gives them.
    pub(super) async fn push(&self, request: &PushRequest) -> Result<PushReply> {
        let now = clock::now();
        let found = self.parts.read(|parts| {
            let source = parts.state.source().map(|(account, source)| (account, source.clone()));
            let PriceRules { currency, numbers } = parts.state.price_rules(&parts.catalog);
            let currency = currency.map(str::to_owned);
            Ok(source.map(|(account, source)| (account, source, currency, numbers)))
        })?;
        let Some((account, source, currency, numbers)) = found else { return Ok(PushReply::Unknown) };
        let Some(secret) = self.secret(account, &source)? else { return Ok(PushReply::Unknown) };
        if !self.has_plan(account).await? {
            return Ok(PushReply::Unknown);
        }
        let rules = PriceRules { currency: currency.as_deref(), numbers };
        let (name, pushed) = match read_push(request, &secret, &source.settings, rules, now) {
            Ok(read) => read,
            // Kept apart: a wrong signature counts against the sender's address, a malformed body
            // does not.
            Err(error) if error.is_unsigned() => return Ok(PushReply::Unsigned(error.to_string())),
            Err(error) => return Ok(PushReply::Malformed(error.to_string())),
        };
        if let Some(name) = &name {
            // Shops repeat a push that they take for lost. An old one would undo a later change of
            // a price.
            if self.is_repeated(name)? {
                return Ok(PushReply::Ignored);
            }
            self.note_push(name, now)?;
        }
        let (upserts, deletes, errors) = match pushed {
            Pushed::Other => return Ok(PushReply::Ignored),
            Pushed::Ping => {
                self.change(|parts| parts.state.ping(now))?;
                return Ok(PushReply::Fetching);
            }
            Pushed::Changes { upserts, deletes, errors } => (upserts, deletes, errors),
        };
        let faulty = errors.iter().filter(|error| error.leaves_out()).count();
        let changed =
            self.change(|Parts { state, catalog }| state.push(catalog, upserts, &deletes, &errors, now))?;
        // Before the wait for the account, in which the object may be evicted.
        self.arm().await?;
        self.give().await?;
        Ok(PushReply::Taken { changed, faulty })
    }

    /// Returns the secret of a source that takes pushes.
    fn secret(&self, account: KeyId, source: &Source) -> Result<Option<String>> {
        let Some(sealed) = source.secret.as_ref().filter(|_| source.settings.push) else { return Ok(None) };
        let keys = bindings::webhook_encryption(&self.env)?;
        match keys.unseal_bytes(sealed, &account.to_string()) {
            Ok(secret) => Ok(String::from_utf8(secret).ok()),
            Err(error) => {
                log::error(log::Event("secret not decrypted"), None, &[("error", &error)]);
                Err(error.to_string().into())
            }
        }
    }

    /// Returns true if the plan of the account has push. A record that KV does not show says nothing
    /// about the plan.
    async fn has_plan(&self, account: KeyId) -> Result<bool> {
        let record = key_store::find_quietly(&bindings::key_store(&self.env)?, &account).await?;
        Ok(record.is_none_or(|record| record.biolink_plan == BiolinkPlan::Business))
    }
}
