//! A fake edge that serves the feed of key changes, and meters for holders outside.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use shared::{
    key::{KeyId, KeyRecord},
    keys_api::{ChangesPage, ChangesRequest, Cursor},
    meter::{BulkReplies, BulkReply, BulkRequest, Meter},
    origin_token::OriginToken,
    secret::MacKeys,
    time::UnixMillis,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    keys::{self, GRANT_SECRET},
    runtime::{RUNTIME, listen},
};

/// An edge with the feed of key changes and with meters. It serves one record per page.
pub struct FakeEdge {
    pub address: SocketAddr,
    feed: Arc<Mutex<Feed>>,
}

struct Feed {
    records: Vec<KeyRecord>,
    /// Whether the feed is 503.
    failing: bool,
    requests: usize,
    cursors: Vec<Option<Cursor>>,
    meters: HashMap<KeyId, Meter>,
}

const CREATED: UnixMillis = UnixMillis(1);

impl FakeEdge {
    pub async fn start(records: Vec<KeyRecord>) -> Self {
        let (listener, address) = listen();
        let feed = Feed { records, failing: false, requests: 0, cursors: Vec::new(), meters: HashMap::new() };
        let feed = Arc::new(Mutex::new(feed));
        let serving = Arc::clone(&feed);
        RUNTIME.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                RUNTIME.spawn(serve(stream, Arc::clone(&serving)));
            }
        });
        Self { address, feed }
    }

    /// Appends a change to the feed.
    pub fn push(&self, record: KeyRecord) {
        self.feed.lock().unwrap().records.push(record);
    }

    /// Sets whether requests are 503.
    pub fn fail(&self, failing: bool) {
        self.feed.lock().unwrap().failing = failing;
    }

    /// Returns the number of requests so far.
    pub fn requests(&self) -> usize {
        self.feed.lock().unwrap().requests
    }

    /// Returns the cursors of all requests so far.
    pub fn cursors(&self) -> Vec<Option<Cursor>> {
        self.feed.lock().unwrap().cursors.clone()
    }
}

async fn serve(mut stream: TcpStream, feed: Arc<Mutex<Feed>>) {
    let mut unread = Vec::new();
    loop {
        let request = loop {
            if let Some(request) = whole(&unread) {
                break request;
            }
            if stream.read_buf(&mut unread).await.unwrap_or(0) == 0 {
                return;
            }
        };
        unread.clear();
        let (status, body) = feed.lock().unwrap().respond(&request.0, &request.1);
        let response = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        if stream.write_all(response.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Returns the head and the body of a request that was read to its end.
fn whole(read: &[u8]) -> Option<(String, String)> {
    let (head, body) = std::str::from_utf8(read).unwrap().split_once("\r\n\r\n")?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length = length.map_or(0, |length| length.parse().unwrap());
    (body.len() == length).then(|| (head.to_owned(), body.to_owned()))
}

impl Feed {
    /// Handles the asks of holders outside, with what the keys themselves say for records.
    fn ask(&mut self, body: &str) -> String {
        let request = BulkRequest::from_json(body.as_bytes()).unwrap();
        let replies = request.asks().iter().map(|ask| {
            let record = KeyRecord { version: 1, ..KeyRecord::provisional(&ask.request().key) };
            let meter = self.meters.entry(ask.id()).or_default();
            BulkReply::from(meter.handle(ask.with_record(Some(record)), keys::now()))
        });
        BulkReplies::new(replies.collect()).to_json()
    }

    fn respond(&mut self, head: &str, body: &str) -> (u16, String) {
        self.requests += 1;
        let target = head.split(' ').nth(1).unwrap();
        let token = head.lines().find_map(|line| line.strip_prefix("authorization: "));
        let secret = MacKeys::parse(GRANT_SECRET).unwrap();
        let token = OriginToken::verify(token, &secret, keys::now()).expect("a valid token");
        assert_eq!(token.data_center, "test");
        if target == BulkRequest::PATH {
            return if self.failing { (503, String::new()) } else { (200, self.ask(body)) };
        }
        let request = ChangesRequest::read(target.split_once('?').map(|(_, query)| query)).unwrap();
        self.cursors.push(request.cursor.clone());
        if self.failing {
            return (503, String::new());
        }
        let last = u64::try_from(self.records.len()).unwrap();
        let after = request.cursor.map_or(0, |cursor| cursor.number_in(CREATED, last));
        // One record per page, so that there are further pages.
        let next = self.records.iter().skip(usize::try_from(after).unwrap()).take(1).cloned();
        let number = last.min(after + 1);
        (200, ChangesPage::new(next, Cursor::new(CREATED, number), number < last).to_json())
    }
}
