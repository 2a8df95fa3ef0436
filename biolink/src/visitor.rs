//! What a request of a visitor says about the visitor, without keeping the visitor: the kind of
//! device and program, where the visit came from, and a pseudonym for one day and page.
//!
//! Nothing that these functions return holds an address or a user agent.
//!
//! Why: docs/decisions/analytics.md, "`Sec-GPC` is honored, `DNT` is not read".

mod agent;
mod bot;
mod channel;
mod device;
mod header;
mod id;
mod own_agent;
mod referral;
mod unknown_pages;
mod utm;

pub use agent::Agent;
pub use bot::BotClass;
pub use channel::Channel;
pub use device::Device;
pub(crate) use header::preferred;
pub use header::{is_speculative, language, opts_out};
pub use id::{VisitorId, network_of};
pub use own_agent::{PRODUCT_SYNC_AGENT, WEBHOOKS_AGENT};
pub use referral::Referral;
pub use unknown_pages::check_unknown_pages;
pub use utm::Utm;
