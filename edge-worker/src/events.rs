//! The events of this isolate, on their way to the queue. No visitor waits for any of it.
//!
//! **If the queue takes nothing**, batches are kept and sent again, up to a megabyte. **If the salt
//! cannot be had**, events count without a visitor.

use std::{cell::RefCell, time::Duration};

use shared::{
    events::{Buffer, Event, Flood, Flush, Occurrence, Request, WAIT_MS, observe},
    visitor::VisitorId,
};
use wasm_bindgen::JsValue;
use worker::{Delay, Queue, QueueContentType, RawMessageBuilder, js_sys::Reflect};

use crate::{admin::CLIENT_ADDRESS, clock, context::RequestContext, entropy, log, visitor_salt};

/// Times that what the queue did not take is sent again before it waits for the next event.
const RETRIES: u32 = 4;
/// Time before the first retry, in milliseconds. It doubles each time.
const RETRY_MS: u64 = 1_000;

thread_local! {
    static BUFFER: RefCell<Option<Buffer>> = const { RefCell::new(None) };
    static FLOOD: RefCell<Flood> = const { RefCell::new(Flood::new()) };
}

/// The visitor of an event until the number is known. It is in memory only.
struct Visitor {
    address: String,
    user_agent: Option<String>,
}

impl Visitor {
    fn read(context: &RequestContext<'_>) -> Self {
        Self {
            address: context.request.header(CLIENT_ADDRESS).unwrap_or_default().to_owned(),
            user_agent: context.request.header("user-agent").map(str::to_owned),
        }
    }

    /// Returns the event with the visitor's number. It does not count if the visitor sends too many.
    fn add_to(&self, event: Event, occurrence: &Occurrence, salt: &[u8; 32]) -> Event {
        let id = VisitorId::of(salt, &occurrence.page, &self.address, self.user_agent.as_deref());
        match FLOOD.with_borrow_mut(|flood| flood.record(id.0, event.kind, event.at)) {
            true => occurrence.ignored(event.at, "flood"),
            false => event.with_visitor(id.0),
        }
    }
}

/// Counts what a visitor did.
pub(crate) fn record(context: &RequestContext<'_>, occurrence: Occurrence, query: Option<&str>) {
    let country = country(context);
    let own_host = context.address.host();
    let request = Request {
        method: &context.request.method,
        header: |name: &str| context.request.header(name),
        query,
        own_host: Some(own_host),
        country: country.as_deref(),
        at: context.request.now,
    };
    let (event, is_numbered) = observe(&occurrence, &request);
    if !is_numbered {
        return add(context, &occurrence, &event);
    }
    let visitor = Visitor::read(context);
    let day = event.at.day();
    if let Some(salt) = visitor_salt::known(day) {
        return add(context, &occurrence, &visitor.add_to(event, &occurrence, &salt));
    }
    let (salts, queue, id) =
        (context.bindings.salt.clone(), context.bindings.events.clone(), context.request.id);
    context.execution.wait_until(async move {
        let event = match visitor_salt::fetch(&salts, day).await {
            Ok(salt) => visitor.add_to(event, &occurrence, &salt),
            Err(error) => {
                log::error("visitor salt unavailable", Some(id), &[("error", &error)]);
                event
            }
        };
        if let Some(flush) = push(&occurrence, &event) {
            deliver(&queue, flush).await;
        }
    });
}

fn add(context: &RequestContext<'_>, occurrence: &Occurrence, event: &Event) {
    if let Some(flush) = push(occurrence, event) {
        let queue = context.bindings.events.clone();
        context.execution.wait_until(async move { deliver(&queue, flush).await });
    }
}

/// Appends an event to the buffer.
fn push(occurrence: &Occurrence, event: &Event) -> Option<Flush> {
    BUFFER.with_borrow_mut(|place| {
        let buffer = match place {
            Some(buffer) => buffer,
            None => place.insert(Buffer::new(isolate()?)),
        };
        Some(buffer.push(occurrence.account, occurrence.page, event, clock::now()))
    })
}

fn isolate() -> Option<[u8; 8]> {
    match entropy::random() {
        Ok(drawn) => Some(drawn),
        Err(error) => {
            log::error("random number generator failed", None, &[("error", &error)]);
            None
        }
    }
}

/// Sends what is due, and again what the queue did not take.
async fn deliver(queue: &Queue, flush: Flush) {
    if flush == Flush::Later {
        Delay::from(Duration::from_millis(WAIT_MS)).await;
    }
    let mut batches = with_buffer(|buffer| match flush {
        Flush::Now => buffer.take(clock::now()),
        Flush::Later => buffer.take_due(clock::now()),
    });
    for retry in 0..=RETRIES {
        let mut refused = Vec::new();
        for batch in batches {
            let message = RawMessageBuilder::new(JsValue::from_str(&batch.to_json()));
            let sent = queue.send_raw(message.build_with_content_type(QueueContentType::Text)).await;
            if let Err(error) = sent {
                log::error("event batch not queued", None, &[("number", &batch.number), ("error", &error)]);
                refused.push(batch);
            }
        }
        if refused.is_empty() {
            return;
        }
        with_buffer(|buffer| buffer.restore(refused));
        if retry == RETRIES {
            return;
        }
        Delay::from(Duration::from_millis(RETRY_MS << retry)).await;
        batches = with_buffer(|buffer| buffer.take(clock::now()));
    }
}

fn with_buffer<T: Default>(step: impl FnOnce(&mut Buffer) -> T) -> T {
    BUFFER.with_borrow_mut(|place| place.as_mut().map(step).unwrap_or_default())
}

/// Returns the country that the platform has found. Without it, as in development, the header of the
/// same name says it.
fn country(context: &RequestContext<'_>) -> Option<String> {
    let get = |object: &JsValue, name: &str| Reflect::get(object, &name.into()).ok();
    let found = get(&context.request.raw, "cf").filter(JsValue::is_object);
    let found = found.and_then(|cf| get(&cf, "country")).and_then(|country| country.as_string());
    found.or_else(|| context.request.header("cf-ipcountry").map(str::to_owned))
}
