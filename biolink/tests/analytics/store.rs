//! What happens to events: batches of isolates, messages to the stores of pages, their rows, and the
//! report. Only the object and the queue are played. They hold no rule.

use biolink::{
    analytics::{
        AnalyticsQuery, AnalyticsRequest, Completeness, Labels, LinkLabel, PageCounter, PageLabel, PageQuery,
        PageReport, Report, ReportContext, SegmentColumns, Zone,
    },
    events::{Batch, Buffer, Dimension, Part, Received, deliveries},
    page::PageId,
    stats::{Row, additions},
};
use shared::{key::KeyId, problem::Problem, response::Response, time::UnixMillis};

use crate::world::{Happened, pages};

const ACCOUNT: [u8; 12] = [9; 12];

/// Batches of events, as `isolates` isolates send them, each of at most `size` events.
pub(crate) fn batches(events: &[Happened], isolates: u8, size: usize) -> Vec<Batch> {
    let mut buffers: Vec<_> = (0..isolates).map(|number| Buffer::new([number + 1; 8])).collect();
    let count = buffers.len();
    let mut batches = Vec::new();
    for (at, Happened { page, event }) in events.iter().enumerate() {
        let buffer = &mut buffers[at % count];
        buffer.push(KeyId::new(ACCOUNT), *page, event);
        if at % size == 0 {
            batches.extend(buffer.take());
        }
    }
    batches.extend(buffers.iter_mut().flat_map(|buffer| buffer.take()));
    batches
}

/// The store of one page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    rows: Vec<Row>,
    received: Received,
}

/// The stores of all pages of a world.
pub(crate) struct Stores(pub(crate) Vec<(PageId, Store)>);

impl Store {
    /// Adds what is new in the parts of a message. A row takes more until it has `full` events.
    fn append(&mut self, parts: &[Part], full: usize) {
        let (rows, errors) = additions(parts, &self.received, UnixMillis(0));
        assert!(errors.is_empty(), "{errors:?}");
        for row in rows {
            self.received.extend(&row.received);
            let day = row.segment.day();
            match self.rows.iter_mut().rev().find(|open| open.segment.day() == day) {
                Some(open) if open.segment.rows() < full => open.append(&row),
                _ => self.rows.push(row),
            }
        }
    }

    /// Counts. The counter gets no column that the query does not ask for.
    pub(crate) fn count(&self, query: &PageQuery) -> PageReport {
        let mut rows: Vec<_> = self.rows.iter().map(|row| (row, row.segment.encode())).collect();
        rows.sort_by_key(|(row, _)| row.segment.day());
        let (needed, (from, to)) = (query.columns(), query.days_without_time());
        let mut counter = PageCounter::new(query.clone());
        for (row, columns) in &rows {
            let day = row.segment.day();
            let mut dimensions = [None; Dimension::COUNT];
            for dimension in &needed.dimensions {
                dimensions[dimension.index()] = Some(columns.dimensions[dimension.index()].as_slice());
            }
            let with_time = !(from..to).contains(&day);
            let segment = SegmentColumns {
                day,
                rows: row.segment.rows(),
                time: with_time.then_some(columns.time.as_slice()),
                kind: &columns.kind,
                visitor: needed.visitor.then_some(columns.visitor.as_slice()),
                dimensions,
            };
            counter.add(&segment).unwrap();
        }
        counter.finish()
    }

    /// Returns the number of batches that are missing.
    pub(crate) fn gaps(&self) -> usize {
        self.received.gaps()
    }
}

impl Stores {
    /// Delivers batches in messages of `per_message` batches.
    pub(crate) fn of(batches: &[Batch], per_message: usize, full: usize) -> Self {
        let mut stores: Vec<_> = pages().into_iter().map(|page| (page, Store::default())).collect();
        for message in batches.chunks(per_message) {
            for delivery in deliveries(message.to_vec()) {
                let (_, store) = stores.iter_mut().find(|(page, _)| *page == delivery.page).unwrap();
                store.append(&delivery.parts, full);
            }
        }
        Self(stores)
    }

    /// Returns the report about some pages, or about all.
    pub(crate) fn report(&self, query: &AnalyticsQuery) -> Response {
        let asked = |page: &PageId| query.pages().is_empty() || query.pages().contains(page);
        let count = |query: &PageQuery| {
            let stores = self.0.iter().filter(|(page, _)| asked(page));
            Report::merge(stores.map(|(page, store)| (*page, store.count(query))))
        };
        let previous = query.previous_query().map(|previous| count(&previous));
        let context = ReportContext { labels: labels(), delivery: Completeness::default(), lifetime: None };
        query.render(&count(&query.page_query()), previous.as_ref(), &context)
    }
}

/// Reads a query as the API does.
pub(crate) fn query(
    text: &str,
    zone: &Zone,
    now: UnixMillis,
    window_days: u32,
) -> Result<AnalyticsQuery, Problem> {
    AnalyticsRequest::parse(Some(text))?.resolve(zone, now, window_days)
}

/// What pages and links are called. `lnk_a` and `prd_a` are there, the others are deleted.
pub(crate) fn labels() -> Labels {
    let link = |id: &str| LinkLabel {
        id: id.to_owned(),
        title: format!("Title of {id}"),
        url: Some(format!("https://example.com/{id}")),
        deleted: false,
    };
    let page = |(id, number): (PageId, u8)| PageLabel {
        id,
        title: format!("Page {number}"),
        slug: format!("page-{number}"),
    };
    Labels {
        links: vec![link("lnk_a"), link("prd_a")],
        pages: pages().into_iter().zip(1..).map(page).collect(),
    }
}
