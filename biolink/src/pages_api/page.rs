//! What an account keeps of a page.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shared::{key::SecretId, time::UnixMillis};
use strum::{EnumString, IntoStaticStr, VariantArray};

use super::suspension::Suspension;
use crate::page::{PageDocument, PageId, Slug, document::Locale};

/// Time for which a page's former slugs lead to it, in milliseconds: 90 days.
pub(super) const REDIRECT_MS: u64 = 90 * 86_400_000;
/// Revisions that can be restored.
pub(super) const MAX_REVISIONS: usize = 10;

/// A page without its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageMeta {
    /// Its id.
    pub id: PageId,
    /// The name in its address.
    pub slug: Slug,
    /// The number of the claim by which it has the slug.
    pub claim: u64,
    /// Slugs that it had before.
    #[serde(default)]
    pub former_slugs: Vec<FormerSlug>,
    /// The target of its QR codes: a slug that never changes and is never freed. A page from before
    /// there were codes has none; its slug does as one.
    pub code: Option<Slug>,
    /// The client's own name for it. No other page of the account has it.
    pub external_id: Option<String>,
    /// The client's labels.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Its title, for lists.
    pub title: String,
    /// Its language, if its owner chose it or something said which it is.
    #[serde(default)]
    pub(super) locale: Option<Locale>,
    /// Whether it is live.
    pub status: PageStatus,
    /// Counts all changes; the entity tag.
    pub version: u64,
    /// Counts the changes of its content.
    pub revision: u64,
    /// The revision that is live, or was last.
    pub published_revision: Option<u64>,
    /// The revisions that are kept, rising, each with its moment.
    #[serde(default)]
    pub revisions: Vec<(u64, UnixMillis)>,
    /// The named secrets that made those revisions, where one did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) authors: Vec<(u64, SecretId)>,
    /// When each of those revisions last went live.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) publications: Vec<(u64, UnixMillis)>,
    /// The named secrets that published them then, where one did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) publishers: Vec<(u64, SecretId)>,
    /// The revisions that the last edit by a product source made.
    #[serde(default)]
    pub synced: Vec<u64>,
    /// The moment of creation.
    pub created_at: UnixMillis,
    /// The moment of the last change.
    pub updated_at: UnixMillis,
    /// The moment at which it last went live.
    pub published_at: Option<UnixMillis>,
    /// The operator's order not to show it.
    pub(super) suspended: Option<Suspension>,
}

/// A slug that a page had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormerSlug {
    /// The slug.
    pub slug: Slug,
    /// The moment from which it no longer leads to the page.
    pub until: UnixMillis,
    /// Whether it was the code of a page that was deleted, which its owner did not choose.
    #[serde(default)]
    pub is_code: bool,
}

/// Whether a page is live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum PageStatus {
    /// It never was.
    #[default]
    Draft,
    /// It is.
    Published,
    /// It was taken down.
    Unpublished,
}

shared::named!(PageStatus);

/// The content of a page in one revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// The content that visitors see.
    pub document: PageDocument,
    /// The client's notes, which visitors do not see.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
}

impl PageStatus {
    /// Every status once.
    pub const ALL: [Self; 3] = *Self::VARIANTS.as_array().unwrap();
}

impl PageMeta {
    /// Returns true if the live page is older than the content.
    pub fn has_unpublished_changes(&self) -> bool {
        self.published_revision != Some(self.revision)
    }

    /// Returns the revision that visitors see; `None` unless the page is live.
    pub fn live_revision(&self) -> Option<u64> {
        // The number stays after the page was taken down, for the owner to know what was live.
        self.published_revision.filter(|_| self.status == PageStatus::Published)
    }

    /// Returns its slug, those that lead to it, and its code.
    pub(super) fn slugs(&self) -> impl Iterator<Item = &Slug> {
        self.former_slugs.iter().map(|former| &former.slug).chain([&self.slug]).chain(&self.code)
    }

    /// Adds a revision, made with a named secret or without one.
    pub(super) fn add_revision(&mut self, by: Option<SecretId>, now: UnixMillis) {
        self.revision = self.revision.saturating_add(1);
        self.revisions.push((self.revision, now));
        self.authors.extend(by.map(|secret| (self.revision, secret)));
    }

    /// Returns the named secret that made a revision.
    pub(super) fn author(&self, revision: u64) -> Option<SecretId> {
        secret_of(&self.authors, revision)
    }

    /// Notes that the newest revision goes live, with a named secret or without one.
    pub(super) fn publish(&mut self, by: Option<SecretId>, now: UnixMillis) {
        self.status = PageStatus::Published;
        self.published_revision = Some(self.revision);
        self.published_at = Some(now);
        self.publications.retain(|(number, _)| *number != self.revision);
        self.publications.push((self.revision, now));
        self.publishers.retain(|(number, _)| *number != self.revision);
        self.publishers.extend(by.map(|secret| (self.revision, secret)));
    }

    /// Returns when a revision last went live.
    pub(super) fn publication(&self, revision: u64) -> Option<UnixMillis> {
        self.publications.iter().find(|(number, _)| *number == revision).map(|(_, at)| *at)
    }

    /// Returns the named secret that published a revision then.
    pub(super) fn publisher(&self, revision: u64) -> Option<SecretId> {
        secret_of(&self.publishers, revision)
    }

    /// Notes the revisions that a product source has added to the page. If the last change before was
    /// one too, its revisions are dropped, so that those of the owner are kept longer.
    pub(super) fn forget_last_sync(&mut self, before: &Self) {
        let live = self.published_revision;
        if before.synced.last() == Some(&before.revision) {
            self.revisions.retain(|(number, _)| !before.synced.contains(number) || Some(*number) == live);
        }
        self.synced = (before.revision.saturating_add(1)..=self.revision).collect();
    }

    /// Drops the revisions that are no longer kept: all but the last ten and the live one.
    pub(super) fn trim_revisions(&mut self) {
        let (surplus, live) = (self.revisions.len().saturating_sub(MAX_REVISIONS), self.published_revision);
        let mut place = 0;
        self.revisions.retain(|(number, _)| {
            place += 1;
            // The live one is kept, however old: visitors see it.
            place > surplus || Some(*number) == live
        });
        let is_kept = |number: u64| self.revisions.iter().any(|(kept, _)| *kept == number);
        self.publications.retain(|(number, _)| is_kept(*number));
        for secrets in [&mut self.authors, &mut self.publishers] {
            secrets.retain(|(number, _)| is_kept(*number));
        }
    }
}

fn secret_of(secrets: &[(u64, SecretId)], revision: u64) -> Option<SecretId> {
    secrets.iter().find(|(number, _)| *number == revision).map(|(_, secret)| *secret)
}
