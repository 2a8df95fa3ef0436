//! What the queue may do to batches changes no report: it repeats, reorders and splits them.

use biolink::{analytics::Zone, events::Batch};
use proptest::{collection::vec, prelude::*, sample::Index};
use serde_json::Value;
use shared::time::UnixMillis;

use crate::{
    question::{Question, questions},
    store::{Stores, batches, query},
    world::{Happened, events},
};

const NOW: UnixMillis = UnixMillis(1_795_354_267_123);

/// The queue's faults.
#[derive(Clone, Debug)]
struct Faults {
    again: Vec<Index>,
    order: Vec<Index>,
    per_message: usize,
    full: usize,
}

fn faults() -> impl Strategy<Value = Faults> {
    (vec(any::<Index>(), 0..10), vec(any::<Index>(), 0..60), 1..6usize, 1..60usize)
        .prop_map(|(again, order, per_message, full)| Faults { again, order, per_message, full })
}

impl Faults {
    fn deliver(&self, sent: &[Batch]) -> Stores {
        let mut arrived = sent.to_vec();
        if !sent.is_empty() {
            arrived.extend(self.again.iter().map(|index| index.get(sent).clone()));
            for (at, index) in self.order.iter().enumerate() {
                let (one, two) = (at % arrived.len(), index.index(arrived.len()));
                arrived.swap(one, two);
            }
        }
        Stores::of(&arrived, self.per_message, self.full)
    }
}

fn report(stores: &Stores, question: &Question) -> Value {
    // The zone is UTC, so that this test says nothing about clocks.
    let text = Question { zone: "UTC", ..question.clone() }.text();
    let query = query(&text, &Zone::utc(), NOW, 7).unwrap();
    serde_json::from_str(&stores.report(&query).body).unwrap()
}

proptest! {
    #[test]
    fn batches_repeated_reordered_and_split_make_one_report(
        events in events(NOW, 7),
        question in questions(NOW, 7),
        (isolates, size) in (1..4u8, 1..40usize),
        faults in faults(),
    ) {
        let whole = Stores::of(&batches(&events, 1, usize::MAX), 1, usize::MAX);
        let stores = faults.deliver(&batches(&events, isolates, size));
        prop_assert_eq!(report(&stores, &question), report(&whole, &question));
        prop_assert_eq!(stores.0.iter().map(|(_, store)| store.gaps()).sum::<usize>(), 0);
    }

    /// A batch that never comes leaves out its events, and no others.
    #[test]
    fn batch_lost_takes_its_own_events_only(
        events in events(NOW, 7),
        question in questions(NOW, 7),
        lost in any::<Index>(),
        size in 1..20usize,
    ) {
        let mut sent = batches(&events, 1, size);
        prop_assume!(sent.len() > 1);
        let lost = sent.remove(lost.index(sent.len()));
        let gone: Vec<_> = lost.pages.iter().map(|rows| (rows.page, rows.segment().unwrap())).collect();
        let mut left: Vec<Happened> = events;
        for (page, segment) in &gone {
            for event in segment.events() {
                let at = left.iter().position(|it| it.page == *page && it.event == event).unwrap();
                left.remove(at);
            }
        }
        let stores = Stores::of(&sent, 3, 30);
        let whole = Stores::of(&batches(&left, 1, usize::MAX), 1, usize::MAX);
        prop_assert_eq!(report(&stores, &question), report(&whole, &question));
    }
}
