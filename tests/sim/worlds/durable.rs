//! An object: rows that outlive its instances, an alarm, and at most two instances, of which only the
//! newer may write.

use std::{
    cell::{Cell, RefCell, RefMut},
    rc::{Rc, Weak},
};

use shared::time::UnixMillis;

use super::runtime::{Scope, Sim};

/// The longest that an old instance lives on, in milliseconds.
const OLD_MS: u64 = 20_000;
/// The largest step of a clock in each direction, in milliseconds.
const STEP_MS: u64 = 60_000;
/// Time after which an alarm that was interrupted runs again, in milliseconds.
const AGAIN_MS: u64 = 2_000;

/// The storage has another writer now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fenced;

/// What an object is made of: its rows, and what an instance has in memory.
pub(super) trait Shell: Sized + 'static {
    type Rows: Clone + 'static;
    type Memory: Default + 'static;

    /// Runs the alarm.
    fn alarm(object: Rc<Object<Self>>, on: Rc<Instance<Self>>) -> impl Future<Output = ()> + 'static;
}

/// An instance of an object.
pub(super) struct Instance<S: Shell> {
    pub(super) memory: RefCell<S::Memory>,
    scope: Scope,
    epoch: u64,
}

/// An object of a name.
pub(super) struct Object<S: Shell> {
    pub(super) sim: Sim,
    pub(super) name: String,
    /// What the shell knows besides rows: whom it calls.
    pub(super) shell: S,
    rows: RefCell<S::Rows>,
    /// The rows before a commit that is lost with the next instance.
    lost: RefCell<Option<S::Rows>>,
    now: RefCell<Rc<Instance<S>>>,
    old: RefCell<Option<Rc<Instance<S>>>>,
    epoch: Cell<u64>,
    step: Cell<i64>,
    /// The moment of the alarm in true time, and the number of its setting.
    alarm: Cell<Option<u64>>,
    alarms: Cell<u64>,
    is_running: Cell<bool>,
    this: Weak<Self>,
}

impl<S: Shell> Instance<S> {
    fn new(epoch: u64) -> Rc<Self> {
        Rc::new(Self { memory: RefCell::default(), scope: Scope::default(), epoch })
    }
}

impl<S: Shell> Object<S> {
    pub(super) fn new(sim: &Sim, name: String, shell: S, rows: S::Rows) -> Rc<Self> {
        Rc::new_cyclic(|this| Self {
            sim: sim.clone(),
            name,
            shell,
            rows: RefCell::new(rows),
            lost: RefCell::default(),
            now: RefCell::new(Instance::new(0)),
            old: RefCell::default(),
            epoch: Cell::new(0),
            step: Cell::new(0),
            alarm: Cell::new(None),
            alarms: Cell::new(0),
            is_running: Cell::new(false),
            this: this.clone(),
        })
    }

    /// Returns the time that the object's clock shows.
    pub(super) fn clock(&self) -> UnixMillis {
        UnixMillis(self.sim.now().0.checked_add_signed(self.step.get()).unwrap())
    }

    pub(super) fn rows<T>(&self, read: impl FnOnce(&S::Rows) -> T) -> T {
        read(&self.rows.borrow())
    }

    /// Returns the rows for a change in the commit that the task is making.
    pub(super) fn rows_mut(&self) -> RefMut<'_, S::Rows> {
        self.rows.borrow_mut()
    }

    /// Changes the rows in one commit.
    pub(super) fn commit<T>(
        &self,
        on: &Instance<S>,
        change: impl FnOnce(&mut S::Rows) -> T,
    ) -> Result<T, Fenced> {
        if on.epoch != self.epoch.get() {
            return Err(Fenced);
        }
        let faults = self.sim.faults();
        if self.lost.borrow().is_none() && self.sim.chance(faults.lost_commit) {
            self.sim.note(|| format!("{}: this commit will be lost", self.name));
            self.lost.replace(Some(self.rows.borrow().clone()));
        }
        let outcome = change(&mut self.rows.borrow_mut());
        self.endanger();
        Ok(outcome)
    }

    /// Sets the alarm for a moment of the object's clock.
    pub(super) fn set_alarm(&self, on: &Instance<S>, at: UnixMillis) -> Result<(), Fenced> {
        if on.epoch != self.epoch.get() {
            return Err(Fenced);
        }
        self.schedule_alarm(self.sim.elapsed() + at.since(self.clock()));
        Ok(())
    }

    /// Returns the moment of the alarm by the object's clock.
    pub(super) fn alarm(&self) -> Option<UnixMillis> {
        self.alarm.get().map(|at| self.clock().plus(at.saturating_sub(self.sim.elapsed())))
    }

    /// Runs work in the background of an instance.
    pub(super) fn spawn(&self, on: &Instance<S>, task: impl Future<Output = ()> + 'static) {
        self.sim.spawn(&on.scope, task);
    }

    /// Handles a message on one of the instances. There is no reply if it is evicted meanwhile.
    pub(super) async fn handle<R: 'static, F>(
        &self,
        handle: impl FnOnce(Rc<Self>, Rc<Instance<S>>) -> F,
    ) -> Option<R>
    where
        F: Future<Output = Option<R>> + 'static,
    {
        let on = self.instance();
        let slot = Rc::new(RefCell::new(None));
        let (task, done) = (handle(self.this.upgrade()?, Rc::clone(&on)), Rc::clone(&slot));
        let waker = self.sim.waker();
        self.sim.spawn(&on.scope, async move {
            let reply = task.await;
            done.replace(Some(reply));
            waker();
        });
        std::future::poll_fn(|_| match slot.borrow_mut().take() {
            Some(reply) => std::task::Poll::Ready(reply),
            None => std::task::Poll::Pending,
        })
        .await
    }

    /// Returns the instance that a message reaches.
    fn instance(&self) -> Rc<Instance<S>> {
        let faults = self.sim.faults();
        if self.sim.chance(faults.moved) {
            self.relocate();
        }
        let old = self.old.borrow().clone();
        match old {
            Some(old) if self.sim.chance(500) => old,
            _ => self.now.borrow().clone(),
        }
    }

    /// Draws whether the object is evicted soon.
    fn endanger(&self) {
        let faults = self.sim.faults();
        if self.sim.chance(faults.evicted) {
            let (delay, this) = (self.sim.below(100), self.this.clone());
            let sim = self.sim.clone();
            self.sim.spawn(&Scope::default(), async move {
                sim.sleep(delay).await;
                if let Some(object) = this.upgrade() {
                    object.evict();
                }
            });
        }
    }

    fn evict(&self) {
        self.sim.note(|| format!("{}: evicted", self.name));
        self.now.borrow().scope.end();
        self.renew();
    }

    fn relocate(&self) {
        self.sim.note(|| format!("{}: moved, and the old instance lives on", self.name));
        let old = self.now.borrow().clone();
        if let Some(older) = self.old.replace(Some(Rc::clone(&old))) {
            older.scope.end();
        }
        let (sim, this, span) = (self.sim.clone(), self.this.clone(), self.sim.below(OLD_MS));
        self.sim.spawn(&Scope::default(), async move {
            sim.sleep(span).await;
            old.scope.end();
            if let Some(object) = this.upgrade()
                && object.old.borrow().as_ref().is_some_and(|other| Rc::ptr_eq(other, &old))
            {
                object.old.replace(None);
            }
        });
        self.renew();
    }

    fn renew(&self) {
        self.epoch.set(self.epoch.get() + 1);
        self.now.replace(Instance::new(self.epoch.get()));
        if let Some(rows) = self.lost.take() {
            self.sim.note(|| format!("{}: a commit is lost", self.name));
            self.rows.replace(rows);
        }
        let faults = self.sim.faults();
        if self.sim.chance(faults.steps) {
            let step = i64::try_from(self.sim.below(2 * STEP_MS)).unwrap();
            self.step.set(if step % 2 == 0 { step / 2 } else { -step / 2 });
            self.sim.note(|| format!("{}: its clock is off by {} ms", self.name, self.step.get()));
        }
        if self.is_running.replace(false) {
            let again = self.sim.elapsed() + AGAIN_MS;
            self.schedule_alarm(self.alarm.get().map_or(again, |at| at.min(again)));
        }
    }

    fn schedule_alarm(&self, at: u64) {
        let number = self.alarms.get() + 1;
        self.alarms.set(number);
        self.alarm.set(Some(at));
        let faults = self.sim.faults();
        let delay = match self.sim.chance(faults.alarms) {
            true => [1_000, 60_000, 3_600_000][usize::try_from(self.sim.below(3)).unwrap()],
            false => 0,
        };
        let (sim, this) = (self.sim.clone(), self.this.clone());
        self.sim.spawn(&Scope::default(), async move {
            sim.sleep((at + delay).saturating_sub(sim.elapsed())).await;
            let Some(object) = this.upgrade() else { return };
            while object.is_running.get() && object.alarms.get() == number {
                sim.sleep(50).await;
            }
            if object.alarms.get() == number && object.alarm.get().is_some() {
                object.alarm.set(None);
                object.run_alarm();
                if sim.chance(sim.faults().alarms) {
                    sim.sleep(sim.below(1_000)).await;
                    if !object.is_running.get() {
                        sim.note(|| format!("{}: the alarm comes twice", object.name));
                        object.run_alarm();
                    }
                }
            }
        });
    }

    fn run_alarm(&self) {
        let Some(object) = self.this.upgrade() else { return };
        let on = self.now.borrow().clone();
        self.is_running.set(true);
        self.endanger();
        let (running, ran) = (Rc::clone(&object), Rc::clone(&on));
        self.sim.spawn(&on.scope, async move {
            S::alarm(Rc::clone(&running), Rc::clone(&ran)).await;
            if ran.epoch == running.epoch.get() {
                running.is_running.set(false);
            }
        });
    }
}
