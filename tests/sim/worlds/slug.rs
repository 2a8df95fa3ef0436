//! The shell of the object of a slug or host: loads, steps and stores.

use std::rc::Rc;

use biolink::pages_api::{SlugMessage, SlugReply, SlugState};

use super::{
    durable::{Fenced, Instance, Object, Shell},
    runtime::json,
};

/// The shell of a slug, or of a host.
pub(super) struct SlugShell;

impl Shell for SlugShell {
    type Rows = Option<SlugState>;
    type Memory = Option<SlugState>;

    async fn alarm(_: Rc<Object<Self>>, _: Rc<Instance<Self>>) {}
}

/// As the object of a slug: one synchronous step.
pub(super) fn step(
    object: &Object<SlugShell>,
    on: &Instance<SlugShell>,
    message: SlugMessage,
) -> Result<SlugReply, Fenced> {
    let mut memory = on.memory.borrow_mut();
    let before = memory.take().unwrap_or_else(|| object.rows(Clone::clone).unwrap_or_default());
    let mut next = before.clone();
    let reply = next.handle(message, object.clock());
    object.sim.note(|| format!("{}: {} → {reply:?}", object.name, json(&message)));
    if next != before {
        object.commit(on, |row| *row = Some(next.clone()))?;
    }
    *memory = Some(next);
    Ok(reply)
}
