//! The client of the meters: carries what a key's holder has to ask, and what it has to report.
//!
//! A meter that does not answer in time is a decided case ([`LeaseCache::handle_failure`]): free keys are told to wait,
//! paid keys go on under a local budget. It never makes a key look invalid.

use std::{pin::pin, time::Duration};

use futures_util::future::{Either, select};
use serde_json::json;
use shared::{
    idempotency::{IssueStep, IssueTurn},
    key::{KeyError, KeyId, KeyRecord, Subject, VerifiedKey},
    keys_api::{changed, key_unknown},
    lease_cache::{Admission, Charge, LeaseCache, METER_TIMEOUT_MS, Step},
    meter::{
        Attempt, Change, ChangeOutcome, Message, MeterRequest, MeterResponse, MeterSnapshot, Reply, TTL_MS,
        Verdict,
    },
    problem::{Code, Problem},
    quota::Decision,
    time::UnixMillis,
    tool::Tool,
};
use worker::{Delay, ObjectNamespace, js_sys};

use crate::{clock, context::RequestContext, durable_rpc, key_store, lease_caches, log, promise};

/// How long after a call its end is reported, in milliseconds, if no ask takes it along before.
const REPORT_AFTER_MS: u64 = 1_000;
/// How long a report in the background may take, in milliseconds.
const REPORT_WITHIN_MS: u64 = 5_000;

/// How long a meter may be silent before it is asked the same again, in milliseconds.
const REPEAT_AFTER_MS: u64 = METER_TIMEOUT_MS / 2;
/// How long a request may go on renewing in the background, in milliseconds. The platform ends it thirty seconds
/// after its answer; what it renews last it must still be there to report.
const RENEW_FOR_MS: u64 = 30_000 - TTL_MS - 1_000;

/// How a call ended.
pub(crate) struct End {
    pub(crate) status: u16,
    /// Whether it is given back to the day.
    pub(crate) uncharged: bool,
}

/// Decides on one call.
///
/// # Errors
/// `key-store-unavailable` when neither KV nor the meter can tell the key.
pub(crate) async fn admit(context: &RequestContext<'_>, key: &VerifiedKey) -> Result<Admission, Problem> {
    match with(key, |holder, now| holder.call(key, now))? {
        Step::Decided(admission, renewal) => {
            if let Some(ask) = renewal {
                let reporter = Reporter::of(context, key);
                context.execution.wait_until(async move { reporter.carry(ask).await });
            }
            Ok(admission)
        }
        Step::Ask(ask) => admit_by_meter(context, key, ask).await,
    }
}

async fn admit_by_meter(
    context: &RequestContext<'_>,
    key: &VerifiedKey,
    mut ask: MeterRequest,
) -> Result<Admission, Problem> {
    let introduced = introduce(context, key, &mut ask).await;
    let sent = clock::now();
    let reply = ask_meter(&context.bindings.meter, &key.id.to_string(), &Message::Ask(ask.clone())).await;
    let Ok(Reply::Ask(answer)) = reply else {
        log_silence(context, reply);
        return with(key, |holder, now| holder.handle_failure(&ask, now))?
            .ok_or_else(|| inconsistent(context));
    };
    let admission = with(key, |holder, now| holder.handle_response(&ask, sent, &answer, now))?;
    schedule_report(context, key);
    if unknown_for_want_of_kv(&introduced, &answer) {
        lease_caches::forget(&key.id);
        return introduced.map(|()| Admission::Refuse(KeyError::Invalid));
    }
    admission.ok_or_else(|| inconsistent(context))
}

/// Reads the whole state of a key's meter, at no charge.
///
/// # Errors
/// What is wrong with the key, `meter-unavailable`, or `key-store-unavailable`.
pub(crate) async fn read(context: &RequestContext<'_>, key: &VerifiedKey) -> Result<MeterSnapshot, Problem> {
    let mut ask = with(key, |holder, now| holder.read(key, now))?;
    let introduced = introduce(context, key, &mut ask).await;
    let sent = clock::now();
    let reply = ask_meter(&context.bindings.meter, &key.id.to_string(), &Message::Read(ask.clone())).await;
    let Ok(Reply::Read(reading)) = reply else {
        log_silence(context, reply);
        return Err(unavailable());
    };
    with(key, |holder, now| holder.handle_response(&ask, sent, &reading.response, now))?;
    if unknown_for_want_of_kv(&introduced, &reading.response) {
        lease_caches::forget(&key.id);
        introduced?;
    }
    match reading.response.verdict {
        Verdict::Refuse(fault) => Err(fault.into()),
        Verdict::Allow | Verdict::Deny(_) | Verdict::Noted => Ok(reading),
    }
}

/// Notes how a call of `tool` ended that was admitted with `charge`; the meter learns of it in the background.
pub(crate) fn ended(context: &RequestContext<'_>, key: &VerifiedKey, tool: Tool, end: End, charge: Charge) {
    let noted = with(key, |holder, _| holder.record_outcome(tool, end.status, end.uncharged, charge));
    if noted.is_ok() {
        schedule_report(context, key);
    }
}

/// Has a key's meter change its record, and answers the record as it is then.
///
/// # Errors
/// As [`changed`](shared::keys_api::changed), `meter-unavailable`, or `key-store-unavailable` when the meter does not
/// know the key and the store cannot be asked, or does not show a young key yet.
pub(crate) async fn change(
    context: &RequestContext<'_>,
    subject: Subject<'_>,
    change: Change,
) -> Result<KeyRecord, Problem> {
    let stored = key_store::find(&context.bindings.keys, subject.id(), context.incoming).await;
    let (record, store) = match stored {
        Ok(record) => (record, Ok(())),
        Err(problem) => (None, Err(problem)),
    };
    let message = Message::Change { record, by: subject.by(), change };
    let reply = ask_meter(&context.bindings.meter, &subject.id().to_string(), &message).await;
    let Ok(Reply::Change(outcome)) = reply else {
        log_silence(context, reply);
        return Err(unavailable());
    };
    match (&outcome, subject.by()) {
        (ChangeOutcome::Unknown, None) => store?,
        // The key is real, or it would not have come this far: the store is behind.
        (ChangeOutcome::Unknown, Some(_)) => return Err(key_store::unavailable()),
        _ => {}
    }
    let record = changed(outcome)?;
    lease_caches::learn(&record);
    Ok(record)
}

/// Has the meter of a `caller` decide on an admin secret that was presented.
///
/// # Errors
/// `meter-unavailable`: attempts that cannot be counted are not taken.
pub(crate) async fn attempt(
    context: &RequestContext<'_>,
    caller: &str,
    attempt: Attempt,
) -> Result<Decision, Problem> {
    let reply = ask_meter(&context.bindings.meter, caller, &Message::Attempt(attempt)).await;
    match reply {
        Ok(Reply::Attempt(decision)) => Ok(decision),
        other => {
            log_silence(context, other);
            Err(unavailable())
        }
    }
}

/// Reports the progress of issuing a key to the meter of its `Idempotency-Key`, which has this name.
///
/// # Errors
/// `meter-unavailable`.
pub(crate) async fn issue(
    context: &RequestContext<'_>,
    name: &str,
    step: IssueStep,
) -> Result<IssueTurn, Problem> {
    let reply = ask_meter(&context.bindings.meter, name, &Message::Issue(step)).await;
    match reply {
        Ok(Reply::Issue(turn)) => Ok(turn),
        other => {
            log_silence(context, other);
            Err(unavailable())
        }
    }
}

/// Reads the whole state of a key's meter for an administrator.
///
/// # Errors
/// `key-unknown`, `meter-unavailable`, or `key-store-unavailable` when the meter does not know the key and the store
/// cannot be asked.
pub(crate) async fn show(context: &RequestContext<'_>, id: &KeyId) -> Result<MeterSnapshot, Problem> {
    let (record, store) = match key_store::find(&context.bindings.keys, id, context.incoming).await {
        Ok(record) => (record, Ok(())),
        Err(problem) => (None, Err(problem)),
    };
    let reply = ask_meter(&context.bindings.meter, &id.to_string(), &Message::Show { record }).await;
    match reply {
        Ok(Reply::Show(Some(reading))) => Ok(reading),
        Ok(Reply::Show(None)) => store.and_then(|()| Err(key_unknown())),
        other => {
            log_silence(context, other);
            Err(unavailable())
        }
    }
}

/// Shows the meter what KV holds of a key that this isolate does not know. A store that fails is no reason to
/// refuse: the meter may know the key itself.
async fn introduce(
    context: &RequestContext<'_>,
    key: &VerifiedKey,
    ask: &mut MeterRequest,
) -> Result<(), Problem> {
    if ask.record.is_some() || ask.version > 0 {
        return Ok(());
    }
    if let Some(record) = key_store::find(&context.bindings.keys, &key.id, context.incoming).await? {
        with(key, |holder, _| holder.learn(record.clone()))?;
        ask.version = record.version;
        ask.record = Some(record);
    }
    Ok(())
}

/// Whether the meter does not know the key, and the only other one who might could not be asked.
fn unknown_for_want_of_kv(introduced: &Result<(), Problem>, answer: &MeterResponse) -> bool {
    introduced.is_err() && answer.verdict == Verdict::Refuse(KeyError::Invalid)
}

fn with<T>(key: &VerifiedKey, step: impl FnOnce(&mut LeaseCache, UnixMillis) -> T) -> Result<T, Problem> {
    let now = clock::now();
    lease_caches::with(&key.id, now, |holder| step(holder, now)).map_err(|fault| {
        log::cause("drawing the isolate's name", None, fault);
        Problem::new(Code::Internal, "the gateway has no randomness")
    })
}

/// Sees to it that what is held and what has ended is reported, by one request in the background at a time.
fn schedule_report(context: &RequestContext<'_>, key: &VerifiedKey) {
    let reporter = Reporter::of(context, key);
    if let Some(wait) = reporter.take_on() {
        context.execution.wait_until(async move { reporter.run(wait).await });
    }
}

/// Reports for one key in the background, beyond the end of the request that started it.
struct Reporter {
    meter: ObjectNamespace,
    key: VerifiedKey,
}

impl Reporter {
    fn of(context: &RequestContext<'_>, key: &VerifiedKey) -> Self {
        Self { meter: context.bindings.meter.clone(), key: *key }
    }

    /// How long to wait, if there is something to report that nobody else will.
    fn take_on(&self) -> Option<u64> {
        let now = clock::now();
        let due = with(&self.key, |holder, now| match holder.flush_at() {
            Some(until) => Some(until),
            None => (!holder.is_idle()).then(|| now.plus(REPORT_AFTER_MS)),
        });
        let due = due.ok().flatten()?;
        lease_caches::take_on_report(&self.key.id, due, now).then(|| due.since(now))
    }

    /// Reports until nothing is left. A lease is renewed by the way while its key is in use, so this ends with the
    /// time the platform gives to requests that have been answered.
    async fn run(&self, mut wait: u64) {
        let begun = clock::now();
        loop {
            Delay::from(Duration::from_millis(wait)).await;
            let renew = clock::now().since(begun) < RENEW_FOR_MS;
            let ask = with(&self.key, |holder, now| holder.flush(&self.key, renew, now));
            let Ok(Some(ask)) = ask else { return };
            self.carry(ask).await;
            match self.take_on() {
                Some(next) => wait = next,
                None => return,
            }
        }
    }

    /// Carries an ask that nobody waits for.
    async fn carry(&self, ask: MeterRequest) {
        let sent = clock::now();
        let message = Message::Ask(ask);
        let reply =
            promise::within(REPORT_WITHIN_MS, send(&self.meter, &self.key.id.to_string(), &message)).await;
        let Message::Ask(ask) = message else { return };
        let noted = match reply {
            Some(Ok(Reply::Ask(answer))) => {
                with(&self.key, |holder, now| holder.handle_response(&ask, sent, &answer, now))
            }
            Some(_) | None => {
                log::cause("reporting to a meter", None, self.key.id);
                with(&self.key, |holder, now| holder.handle_failure(&ask, now))
            }
        };
        if noted.is_err() {
            log::cause("reporting to a meter", None, "the answer could not be kept");
        }
    }
}

/// Why a meter gave no reply.
enum Silence {
    Late,
    Failed(worker::Error),
}

/// One message, within the time that a caller waits for it. After a failure it is sent once more by a new stub,
/// unless the object is overloaded, and after a silence too; then the first answer counts, not the first failure. A meter answers the same
/// ask the same way.
async fn ask_meter(meter: &ObjectNamespace, name: &str, message: &Message) -> Result<Reply, Silence> {
    let attempts = async {
        let first = pin!(send(meter, name, message));
        let silence = pin!(Delay::from(Duration::from_millis(REPEAT_AFTER_MS)));
        match select(first, silence).await {
            Either::Left((Err(fault), _)) if !is_overloaded(&fault) => send(meter, name, message).await,
            Either::Left((reply, _)) => reply,
            Either::Right(((), first)) => match select(first, pin!(send(meter, name, message))).await {
                Either::Left((Err(_), second)) => second.await,
                Either::Right((Err(_), first)) => first.await,
                Either::Left((reply, _)) | Either::Right((reply, _)) => reply,
            },
        }
    };
    match promise::within(METER_TIMEOUT_MS, attempts).await {
        Some(reply) => reply.map_err(Silence::Failed),
        None => Err(Silence::Late),
    }
}

async fn send(meter: &ObjectNamespace, name: &str, message: &Message) -> worker::Result<Reply> {
    let reply = durable_rpc::ask(meter, name, &serde_json::to_string(message)?).await?;
    Ok(serde_json::from_str(&reply)?)
}

fn is_overloaded(fault: &worker::Error) -> bool {
    js_sys::Reflect::get(&fault.to_js_value(), &"overloaded".into()).is_ok_and(|flag| flag.is_truthy())
}

fn log_silence(context: &RequestContext<'_>, reply: Result<Reply, Silence>) {
    let cause = match reply {
        Err(Silence::Late) => format!("no answer within {METER_TIMEOUT_MS} ms"),
        Err(Silence::Failed(fault)) => fault.to_string(),
        Ok(_) => "an answer to something else".to_owned(),
    };
    log::cause("asking a meter", Some(context.incoming), cause);
}

fn unavailable() -> Problem {
    Problem::new(Code::MeterUnavailable, "the meter does not answer; nothing was counted").retry_after(1)
}

fn inconsistent(context: &RequestContext<'_>) -> Problem {
    log::cause("asking a meter", Some(context.incoming), json!("an answer that decides nothing"));
    unavailable()
}
