//! The account's outbox: writes to other stores, until they have succeeded.

use biolink::page::{DomainId, ImageId};
use biolink::pages_api::{ImageFate, Task};
use biolink::product_sync::SourceMessage;
use biolink::stats::StatsMessage;
use biolink::webhooks_api::WebhooksMessage;
use shared::key::KeyId;
use worker::Result;

use super::Account;
use crate::bindings;
use crate::biolink::pages_client::slug_call;
use crate::biolink::{domains, page_store, product_sources, stats_client, webhooks_client};
use crate::runtime::{clock, entropy, log};

impl Account {
    /// Does what is due. What happened to it is stored at the end, as one change: a task that is done
    /// again is harmless.
    pub(super) async fn deliver(&self) -> Result<()> {
        // One that fails does not stop the others: a store that is down must not delay the rest.
        let mut ended = Vec::new();
        for task in self.state.change(|state| Ok(state.due(clock::now())))? {
            if let Task::CheckDomain(id) = &task {
                self.check_domain(id).await?;
                continue;
            }
            let outcome = self.perform(&task).await;
            if let Err(error) = &outcome {
                log::error(log::Event("account task failed"), None, &[("error", error)]);
            }
            ended.push((task, outcome.is_ok()));
        }
        self.state.change(|state| {
            ended.iter().for_each(|(task, is_done)| state.settle(task, *is_done, clock::now()));
            Ok(())
        })
    }

    /// Checks the proof of a domain. Nothing is to be done for an account that is not known: it has none.
    async fn check_domain(&self, id: &DomainId) -> Result<()> {
        let Some(account) = self.state.read(|state| Ok(state.domain_account(id)))? else { return Ok(()) };
        let drawn: [u8; 8] = entropy::random()?;
        // 53 bits, which every JSON reader keeps.
        let claim = u64::from_be_bytes(drawn) >> 11;
        let check = self.state.change(|state| Ok(state.check_domain(account, id, claim, clock::now())))?;
        let Some(check) = check else { return Ok(()) };
        let proof = domains::check(&self.env, account, &check).await;
        self.state.change(|state| {
            state.domain_checked(account, &check, proof, clock::now());
            Ok(())
        })
    }

    async fn perform(&self, task: &Task) -> Result<()> {
        match task {
            Task::Slug(slug, message) => {
                slug_call(&bindings::slugs(&self.env)?, slug, *message).await?;
                Ok(())
            }
            Task::ConfigureSource { account, source } => {
                // The source as it is now. A task that waited may be older than the last edit.
                let found = self.state.read(|state| Ok(state.source(source).cloned()))?;
                let message = match found {
                    Some(source) => SourceMessage::Configure { account: *account, source },
                    None => SourceMessage::Delete,
                };
                product_sources::call(&bindings::product_sources(&self.env)?, source, &message).await?;
                Ok(())
            }
            Task::PurgeEvents(page) => {
                stats_client::call(&bindings::stats(&self.env)?, page, &StatsMessage::Purge).await?;
                Ok(())
            }
            Task::Subscribe { account, page } => {
                // As of now, not of when the task was made: tasks that overtake each other end the
                // same.
                let kinds = self.state.read(|state| Ok(state.wanted(page)))?;
                let message = StatsMessage::Subscribe { account: *account, page: *page, kinds };
                stats_client::call(&bindings::stats(&self.env)?, page, &message).await?;
                Ok(())
            }
            Task::Published { account, page, version, publication } => {
                let (account, page, publication) = (*account, *page, (**publication).clone());
                let message = WebhooksMessage::Published { account, page, version: *version, publication };
                self.tell_webhooks(account, &message).await
            }
            Task::PurgeWebhooks { account, page } => {
                self.tell_webhooks(*account, &WebhooksMessage::Purge(*page)).await
            }
            Task::EraseWebhooks(account) => self.tell_webhooks(*account, &WebhooksMessage::Erase).await,
            // Made by `deliver`, which takes in how it ends.
            Task::CheckDomain(_) => Ok(()),
            Task::ServeDomain { account, host } => {
                let snapshot = self.state.read(|state| Ok(state.domain_snapshot(*account, host)))?;
                match snapshot {
                    Some(snapshot) => {
                        page_store::put_domain(&bindings::pages(&self.env)?, host, Some(&snapshot)).await
                    }
                    None => Ok(()),
                }
            }
            Task::EndDomain { account, host, .. } => {
                let snapshot = self.state.read(|state| Ok(state.domain_snapshot(*account, host)))?;
                page_store::put_domain(&bindings::pages(&self.env)?, host, snapshot.as_ref()).await
            }
            Task::Host { account, host, claim } => {
                domains::give_back(&self.env, *account, host, *claim).await
            }
            Task::DropImage(id) | Task::MarkImage(id) => self.settle_image(id).await,
            Task::Index { account, page } => {
                let is_there = self.state.read(|state| Ok(state.has(page)))?;
                page_store::index(&bindings::pages(&self.env)?, *page, is_there.then_some(*account)).await
            }
            Task::Snapshot { account, slug } => {
                // What is live now. The task names the slug only, so a late one never publishes an
                // old page.
                let snapshot = self.state.read(|state| {
                    state.snapshot(*account, slug, |page, number| self.content(page, number))
                })?;
                page_store::put(&bindings::pages(&self.env)?, slug, snapshot.as_ref()).await
            }
        }
    }

    /// Does with the file of an image what the account wants now.
    async fn settle_image(&self, id: &ImageId) -> Result<()> {
        let fate = self.state.change(|state| {
            state.forget_lost_images(clock::now());
            Ok(state.image_fate(id))
        })?;
        let (bucket, name) = (bindings::images(&self.env)?, id.to_string());
        match fate {
            ImageFate::Drop => bucket.delete(&name).await?,
            ImageFate::Show => bucket.mark(&name, false).await?,
            // Not deleted: an operator may restore the account.
            ImageFate::Hide => bucket.mark(&name, true).await?,
        }
        Ok(())
    }

    async fn tell_webhooks(&self, account: KeyId, message: &WebhooksMessage) -> Result<()> {
        webhooks_client::call(&bindings::webhooks(&self.env)?, account, message).await?;
        Ok(())
    }
}
