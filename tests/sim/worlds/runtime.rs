//! The scheduler and the network of a world: simulated time, tasks, and messages with their faults.
//!
//! A shell is written as in production, as futures. A task belongs to a scope, and ends with it without
//! notice, as the work of an object that is evicted does.

use std::{
    cell::{Cell, RefCell},
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    fmt::Display,
    future::poll_fn,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
};

use shared::time::UnixMillis;

use super::choices::Choices;

/// The true time at which every world begins, a morning.
pub(super) const START: u64 = 1_763_712_000_000;
/// The latest arrival of a late message, in milliseconds.
const LATE_MS: u64 = 120_000;

/// The faults of a world. Probabilities are per mille.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Faults {
    /// A message or a reply is lost.
    pub(super) lost: u64,
    /// A message arrives twice.
    pub(super) doubled: u64,
    /// A message or a reply is up to two minutes late.
    pub(super) late: u64,
    /// An object is evicted soon after a commit, or soon after a message arrives.
    pub(super) evicted: u64,
    /// An object moves, and its old instance lives on for a moment.
    pub(super) moved: u64,
    /// An alarm is late, or comes twice, or not for an hour.
    pub(super) alarms: u64,
    /// The clock of an object steps as it is loaded.
    pub(super) steps: u64,
    /// A commit is lost although its reply left. The platform promises that this never happens.
    pub(super) lost_commit: u64,
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// What tasks end with.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope(Rc<Cell<bool>>);

/// A world. Clones are the same one.
#[derive(Clone)]
pub(super) struct Sim(Rc<World>);

struct World {
    salt: u64,
    choices: RefCell<Choices>,
    faults: Faults,
    now: Cell<u64>,
    /// Whether faults have begun, and the time from which there are none.
    is_disturbed: Cell<bool>,
    calm_at: u64,
    order: Cell<u64>,
    current: Cell<u64>,
    queue: RefCell<BinaryHeap<Reverse<(u64, u64, u64)>>>,
    tasks: RefCell<BTreeMap<u64, (Scope, Task)>>,
    trace: Option<RefCell<Vec<String>>>,
    violations: RefCell<Vec<String>>,
}

/// Returns a message for the trace.
pub(super) fn json(message: &impl serde::Serialize) -> String {
    serde_json::to_string(message).unwrap()
}

impl Scope {
    pub(super) fn end(&self) {
        self.0.set(true);
    }
}

impl Sim {
    pub(super) fn new(mut choices: Choices, lost_commit: u64, calm_at: u64, is_traced: bool) -> Self {
        let density = [0, 150, 400, 700][usize::try_from(choices.below(4)).unwrap()];
        let mut some = |most: u64| if choices.chance(density) { choices.below(most) + 1 } else { 0 };
        let faults = Faults {
            lost: some(120),
            doubled: some(150),
            late: some(120),
            evicted: some(60),
            moved: some(60),
            alarms: some(200),
            steps: some(300),
            lost_commit,
        };
        Self(Rc::new(World {
            salt: choices.below(1 << 40) << 20,
            choices: RefCell::new(choices),
            faults,
            now: Cell::new(0),
            is_disturbed: Cell::new(false),
            calm_at,
            order: Cell::new(0),
            current: Cell::new(0),
            queue: RefCell::default(),
            tasks: RefCell::default(),
            trace: is_traced.then(RefCell::default),
            violations: RefCell::default(),
        }))
    }

    pub(super) fn faults(&self) -> Faults {
        let is_disturbed = self.0.is_disturbed.get() && self.0.now.get() < self.0.calm_at;
        if is_disturbed { self.0.faults } else { Faults::default() }
    }

    /// Lets the faults begin.
    pub(super) fn disturb(&self) {
        self.0.is_disturbed.set(true);
    }

    pub(super) fn below(&self, bound: u64) -> u64 {
        self.0.choices.borrow_mut().below(bound)
    }

    pub(super) fn chance(&self, per_mille: u64) -> bool {
        self.0.choices.borrow_mut().chance(per_mille)
    }

    /// Returns random bytes, which no fault depends on.
    pub(super) fn bytes<const N: usize>(&self) -> [u8; N] {
        let number = self.0.order.replace(self.0.order.get() + 1);
        let mut rng = tests::sim::Rng::new(self.0.salt ^ number);
        std::array::from_fn(|_| rng.next().to_le_bytes()[0])
    }

    /// Returns the milliseconds since the beginning.
    pub(super) fn elapsed(&self) -> u64 {
        self.0.now.get()
    }

    /// Returns the true time.
    pub(super) fn now(&self) -> UnixMillis {
        UnixMillis(START + self.0.now.get())
    }

    /// Adds a line to the trace.
    pub(super) fn note(&self, line: impl FnOnce() -> String) {
        if let Some(trace) = &self.0.trace {
            let now = self.0.now.get();
            trace.borrow_mut().push(format!("{:>4}.{:03} s  {}", now / 1_000, now % 1_000, line()));
        }
    }

    /// Notes a broken promise.
    pub(super) fn violate(&self, what: impl Display) {
        self.note(|| format!("BROKEN {what}"));
        self.0.violations.borrow_mut().push(what.to_string());
    }

    /// Runs a task until it or its scope ends.
    pub(super) fn spawn(&self, scope: &Scope, task: impl Future<Output = ()> + 'static) {
        let number = self.0.order.replace(self.0.order.get() + 1);
        self.0.tasks.borrow_mut().insert(number, (scope.clone(), Box::pin(task)));
        self.wake(number, self.elapsed());
    }

    pub(super) async fn sleep(&self, ms: u64) {
        let until = self.elapsed() + ms;
        self.wake(self.0.current.get(), until);
        poll_fn(|_| if self.elapsed() < until { Poll::Pending } else { Poll::Ready(()) }).await;
    }

    /// Runs until this time, or until nothing is left to do.
    pub(super) fn run_until(&self, end: u64) {
        loop {
            let next = self.0.queue.borrow().peek().map(|Reverse((at, ..))| *at);
            if next.is_none_or(|at| at > end) {
                break;
            }
            let Some(Reverse((at, _, number))) = self.0.queue.borrow_mut().pop() else { break };
            self.0.now.set(at.max(self.0.now.get()));
            let Some((scope, mut task)) = self.0.tasks.borrow_mut().remove(&number) else { continue };
            if scope.0.get() {
                continue;
            }
            self.0.current.set(number);
            if task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
                self.0.tasks.borrow_mut().insert(number, (scope, task));
            }
        }
        self.0.now.set(end);
    }

    /// Sends a message, and waits for the reply. `None` if none comes in time. `handle` runs for each
    /// copy that arrives.
    pub(super) async fn call<R: 'static, F>(
        &self,
        timeout: u64,
        handle: impl Fn() -> F + 'static,
    ) -> Option<R>
    where
        F: Future<Output = Option<R>> + 'static,
    {
        let (handle, slot) = (Rc::new(handle), Rc::new(RefCell::new(None::<R>)));
        let caller = self.0.current.get();
        for delay in self.arrivals() {
            let (sim, handle, slot) = (self.clone(), Rc::clone(&handle), Rc::clone(&slot));
            self.spawn(&Scope::default(), async move {
                sim.sleep(delay).await;
                let Some(reply) = handle().await else { return };
                let Some(delay) = sim.arrivals().first().copied() else { return };
                sim.sleep(delay).await;
                slot.borrow_mut().get_or_insert(reply);
                sim.wake(caller, sim.elapsed());
            });
        }
        let until = self.elapsed() + timeout;
        self.wake(caller, until);
        poll_fn(|_| match slot.borrow_mut().take() {
            Some(reply) => Poll::Ready(Some(reply)),
            None if until <= self.elapsed() => Poll::Ready(None),
            None => Poll::Pending,
        })
        .await
    }

    /// Returns the delays after which copies of a message arrive.
    fn arrivals(&self) -> Vec<u64> {
        let faults = self.faults();
        let mut delays = Vec::new();
        if !self.chance(faults.lost) {
            delays.push(1 + self.below(40) + self.lateness(faults.late));
        }
        if self.chance(faults.doubled) {
            delays.push(1 + self.below(8_000) + self.lateness(faults.late));
        }
        delays
    }

    fn lateness(&self, per_mille: u64) -> u64 {
        if self.chance(per_mille) { self.below(LATE_MS) } else { 0 }
    }

    /// Returns what wakes the current task.
    pub(super) fn waker(&self) -> impl Fn() + 'static {
        let (sim, task) = (self.clone(), self.0.current.get());
        move || sim.wake(task, sim.elapsed())
    }

    fn wake(&self, task: u64, at: u64) {
        let order = self.0.order.replace(self.0.order.get() + 1);
        self.0.queue.borrow_mut().push(Reverse((at, order, task)));
    }

    /// Ends the world. Returns what it broke, its choices and its trace.
    pub(super) fn finish(self) -> (Vec<String>, Vec<u64>, Vec<String>) {
        self.0.tasks.borrow_mut().clear();
        let violations = self.0.violations.take();
        let trace = self.0.trace.as_ref().map(RefCell::take).unwrap_or_default();
        let choices = self.0.choices.replace(Choices::scripted(Vec::new()));
        (violations, choices.into_taken(), trace)
    }
}
