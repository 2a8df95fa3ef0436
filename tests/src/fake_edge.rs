//! A fake edge that serves the feed of key changes.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use shared::{
    key::KeyRecord,
    keys_api::{ChangesPage, ChangesRequest, Cursor},
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

/// An edge with the feed of key changes and nothing else. It serves one record per page.
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
}

const CREATED: UnixMillis = UnixMillis(1);

impl FakeEdge {
    pub async fn start(records: Vec<KeyRecord>) -> Self {
        let (listener, address) = listen();
        let feed = Feed { records, failing: false, requests: 0, cursors: Vec::new() };
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
        while !unread.ends_with(b"\r\n\r\n") {
            if stream.read_buf(&mut unread).await.unwrap_or(0) == 0 {
                return;
            }
        }
        let head = String::from_utf8(std::mem::take(&mut unread)).unwrap();
        let (status, body) = feed.lock().unwrap().respond(&head);
        let response = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        if stream.write_all(response.as_bytes()).await.is_err() {
            return;
        }
    }
}

impl Feed {
    fn respond(&mut self, head: &str) -> (u16, String) {
        self.requests += 1;
        let target = head.split(' ').nth(1).unwrap();
        let token = head.lines().find_map(|line| line.strip_prefix("authorization: "));
        let secret = MacKeys::parse(GRANT_SECRET).unwrap();
        let token = OriginToken::verify(token, &secret, keys::now()).expect("a valid token");
        assert_eq!(token.data_centre, "test");
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
