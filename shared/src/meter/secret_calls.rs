//! The calls of named secrets in a batch.

use serde::{Deserialize, Serialize};

use crate::json;
use crate::key::SecretId;

/// Calls of one named secret that the meter did not admit itself, and those that are refunded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretCalls {
    /// Which one.
    pub id: SecretId,
    /// Calls that a lease or the local budget has admitted.
    #[serde(default, skip_serializing_if = "json::is_zero")]
    pub charged: u32,
    /// Calls that are given back to the batch's day.
    #[serde(default, skip_serializing_if = "json::is_zero")]
    pub refunded: u32,
}

impl SecretCalls {
    /// Counts one more call of a secret.
    pub(crate) fn charge(list: &mut Vec<Self>, id: SecretId) {
        Self::change(list, id, |calls| calls.charged = calls.charged.saturating_add(1));
    }

    /// Counts one more refund of a secret.
    pub(crate) fn refund(list: &mut Vec<Self>, id: SecretId) {
        Self::change(list, id, |calls| calls.refunded = calls.refunded.saturating_add(1));
    }

    /// Takes a call back, if it was counted in this batch.
    pub(crate) fn take(list: &mut [Self], id: SecretId) {
        if let Some(calls) = list.iter_mut().find(|calls| calls.id == id) {
            calls.charged = calls.charged.saturating_sub(1);
        }
    }

    /// Forgets all refunds, because they are of a day that is over.
    pub(crate) fn clear_refunds(list: &mut [Self]) {
        list.iter_mut().for_each(|calls| calls.refunded = 0);
    }

    fn change(list: &mut Vec<Self>, id: SecretId, change: impl FnOnce(&mut Self)) {
        match list.iter_mut().find(|calls| calls.id == id) {
            Some(calls) => change(calls),
            None => {
                let mut calls = Self { id, charged: 0, refunded: 0 };
                change(&mut calls);
                list.push(calls);
            }
        }
    }
}
