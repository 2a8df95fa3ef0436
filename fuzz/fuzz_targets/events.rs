#![no_main]

use arbitrary::Arbitrary;
use biolink::events::{Dimension, Event, EventKind, Segment};
use libfuzzer_sys::fuzz_target;
use shared::time::UtcDay;

const DAY: UtcDay = UtcDay(20_779);

#[derive(Arbitrary, Debug)]
struct Row {
    second: u32,
    kind: u8,
    visitor: u64,
    values: Vec<(u8, String)>,
}

fuzz_target!(|rows: (Vec<Row>, Vec<Row>)| check(&rows.0, &rows.1));

/// Oracle: the events that were added. A segment has them in their order, also once it was written and
/// read, and after those of another one that it was appended to.
fn check(first: &[Row], second: &[Row]) {
    let (first, second) = (events(first), events(second));
    let (mut both, rest) = (segment(&first), segment(&second));
    both.append(&rest);
    let expected = [first, second].concat();
    assert_eq!(both.events().collect::<Vec<_>>(), expected);
    if expected.is_empty() {
        return;
    }
    assert_eq!(Segment::from_bytes(&both.to_bytes()).as_ref(), Ok(&both));
    assert_eq!(Segment::from_text(&both.to_text()).ok().as_ref(), Some(&both));
    assert_eq!(Segment::decode(DAY, both.rows(), &both.encode()).as_ref(), Ok(&both));
}

fn events(rows: &[Row]) -> Vec<Event> {
    let event = |row: &Row| {
        let at = DAY.start().plus(u64::from(row.second % 86_400) * 1_000);
        let kind = EventKind::ALL[usize::from(row.kind) % EventKind::ALL.len()];
        let event = Event::new(at, kind).with_visitor(row.visitor >> 16);
        row.values.iter().fold(event, |event, (place, value)| {
            event.with(Dimension::ALL[usize::from(*place) % Dimension::COUNT], value.clone())
        })
    };
    rows.iter().map(event).collect()
}

fn segment(events: &[Event]) -> Segment {
    let mut segment = Segment::new(DAY);
    events.iter().for_each(|event| segment.push(event));
    segment
}
