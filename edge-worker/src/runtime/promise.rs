//! Promises and timers of the runtime, as futures.
//!
//! A future waits in a slot of the isolate's memory, and the runtime settles the slot by its number.
//! That takes one call in each direction, without a closure for each promise.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use futures_util::future::{Either, select};
use shared::lease_cache::STALL_MS;
use shared::sorted_map::SortedMap;
use shared::time::UnixMillis;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use worker::js_sys::Promise;
use worker::wasm_bindgen_futures::{future_to_promise, spawn_local};

use crate::runtime::{calls, clock, task};

/// The value of a promise, or its rejection.
type Settlement = Result<JsValue, JsValue>;

/// A place where a future waits.
struct Slot {
    settlement: Option<Settlement>,
    waker: Waker,
}

thread_local! {
    static SLOTS: RefCell<SortedMap<u32, Slot>> = const { RefCell::new(SortedMap::new()) };
    static LAST_SLOT: Cell<u32> = const { Cell::new(0) };
}

/// A slot in use. It is freed when it is dropped.
struct SlotGuard(u32);

impl SlotGuard {
    fn new(waker: Waker) -> Self {
        let id = LAST_SLOT.get().wrapping_add(1);
        LAST_SLOT.set(id);
        if id == 1 {
            listen();
        }
        SLOTS.with_borrow_mut(|slots| slots.insert(id, Slot { settlement: None, waker }));
        Self(id)
    }

    fn poll(&self, context: &Context<'_>) -> Poll<Settlement> {
        SLOTS.with_borrow_mut(|slots| match slots.get_mut(&self.0) {
            Some(slot) => match slot.settlement.take() {
                Some(settlement) => Poll::Ready(settlement),
                None => {
                    slot.waker.clone_from(context.waker());
                    Poll::Pending
                }
            },
            None => Poll::Pending,
        })
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        SLOTS.with_borrow_mut(|slots| slots.remove(&self.0));
    }
}

/// Lets the runtime settle slots.
fn listen() {
    let callback: Closure<dyn Fn(u32, bool, JsValue)> = Closure::new(settle);
    calls::set_settle(callback.as_ref().unchecked_ref());
    // It is needed for as long as the isolate lives.
    callback.forget();
}

/// Settles a slot, and continues what waits for it.
fn settle(id: u32, is_fulfilled: bool, value: JsValue) {
    let waker = SLOTS.with_borrow_mut(|slots| {
        let slot = slots.get_mut(&id)?;
        slot.settlement = Some(if is_fulfilled { Ok(value) } else { Err(value) });
        Some(slot.waker.clone())
    });
    if let Some(waker) = waker {
        task::run(|| waker.wake());
    }
}

/// The future of a promise.
pub(crate) struct Settled {
    promise: Promise,
    slot: Option<SlotGuard>,
}

impl Future for Settled {
    type Output = Settlement;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Settlement> {
        if let Some(slot) = &self.slot {
            return slot.poll(context);
        }
        let slot = SlotGuard::new(context.waker().clone());
        calls::watch(&self.promise, slot.0);
        self.slot = Some(slot);
        Poll::Pending
    }
}

/// Awaits a promise. Returns its value or its rejection.
pub(crate) const fn settled(promise: Promise) -> Settled {
    Settled { promise, slot: None }
}

/// Awaits what `start` has the runtime settle, which gets the number of a slot for it.
pub(crate) async fn settled_by(start: impl FnOnce(u32) -> Result<(), JsValue>) -> Settlement {
    let slot = SlotGuard::new(Waker::noop().clone());
    start(slot.0)?;
    poll_fn(|context| slot.poll(context)).await
}

/// A timer. It is stopped when it is dropped.
pub(crate) struct Timer {
    ms: u64,
    started: Option<(SlotGuard, JsValue)>,
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if let Some((slot, _)) = &self.started {
            return slot.poll(context).map(drop);
        }
        let slot = SlotGuard::new(context.waker().clone());
        // The runtime takes a longer time as none.
        let ms = f64::from(i32::try_from(self.ms).unwrap_or(i32::MAX));
        let timer = calls::start_timer(ms, slot.0);
        self.started = Some((slot, timer));
        Poll::Pending
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some((_, timer)) = &self.started {
            calls::stop_timer(timer);
        }
    }
}

/// Waits for `ms` milliseconds.
pub(crate) const fn sleep(ms: u64) -> Timer {
    Timer { ms, started: None }
}

/// A timer whose end is put off once if it fires late, because the isolate did not run. What came
/// meanwhile is settled after the timer.
struct Deadline {
    timer: Timer,
    due: UnixMillis,
    is_put_off: bool,
}

impl Future for Deadline {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if Pin::new(&mut self.timer).poll(context).is_pending() {
            return Poll::Pending;
        }
        if self.is_put_off || clock::now().since(self.due) <= STALL_MS {
            return Poll::Ready(());
        }
        self.is_put_off = true;
        self.timer = sleep(STALL_MS);
        Pin::new(&mut self.timer).poll(context)
    }
}

/// Returns the output of `future`, or `None` after `ms` milliseconds. After a stall of the isolate
/// it waits for [`STALL_MS`] longer. A timeout does not undo side effects.
pub(crate) async fn timeout<F: Future>(ms: u64, future: F) -> Option<F::Output> {
    let deadline = Deadline { timer: sleep(ms), due: clock::now().plus(ms), is_put_off: false };
    match select(pin!(future), pin!(deadline)).await {
        Either::Left((output, _)) => Some(output),
        Either::Right(((), _)) => None,
    }
}

/// Returns the status of a response to which a promise of `runtime.js` resolves. As a whole number: the worker has no other use
/// for the formatting of fractions, which weighs 11 KB.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a status has three digits")]
pub(crate) const fn status(settled: f64) -> u16 {
    settled as u16
}

/// Starts a future. Returns a promise that is fulfilled when it ends.
pub(crate) fn started(future: impl Future<Output = ()> + 'static) -> Promise {
    let future = task::boxed(future);
    future_to_promise(async move {
        future.await;
        Ok(JsValue::UNDEFINED)
    })
}

/// Detaches a promise. Ignores a rejection, which the runtime would otherwise report as unhandled.
pub(crate) fn detach(promise: Promise) {
    spawn_local(async {
        if settled(promise).await.is_err() {
            // The other end of the stream reports the error.
        }
    });
}
