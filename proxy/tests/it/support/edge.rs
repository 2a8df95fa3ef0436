//! An edge that only tells which keys have changed.

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
use tests::keys;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::grant::SECRET;

/// The edge, which answers until it is dropped.
pub(crate) struct FakeEdge {
    pub(crate) address: SocketAddr,
    shown: Arc<Mutex<Shown>>,
}

struct Shown {
    records: Vec<KeyRecord>,
    /// Answers 503 in place of the feed.
    failing: bool,
    asked: usize,
    cursors: Vec<Option<Cursor>>,
}

const BEGUN: UnixMillis = UnixMillis(1);

impl FakeEdge {
    pub(crate) async fn start(records: Vec<KeyRecord>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shown = Shown { records, failing: false, asked: 0, cursors: Vec::new() };
        let shown = Arc::new(Mutex::new(shown));
        let answering = Arc::clone(&shown);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(converse(stream, Arc::clone(&answering)));
            }
        });
        Self { address, shown }
    }

    pub(crate) fn tell(&self, record: KeyRecord) {
        self.shown.lock().unwrap().records.push(record);
    }

    pub(crate) fn fail(&self, failing: bool) {
        self.shown.lock().unwrap().failing = failing;
    }

    pub(crate) fn asked(&self) -> usize {
        self.shown.lock().unwrap().asked
    }

    /// The cursors it was asked with.
    pub(crate) fn cursors(&self) -> Vec<Option<Cursor>> {
        self.shown.lock().unwrap().cursors.clone()
    }
}

async fn converse(mut stream: TcpStream, shown: Arc<Mutex<Shown>>) {
    let mut unread = Vec::new();
    loop {
        while !unread.ends_with(b"\r\n\r\n") {
            if stream.read_buf(&mut unread).await.unwrap_or(0) == 0 {
                return;
            }
        }
        let head = String::from_utf8(std::mem::take(&mut unread)).unwrap();
        let (status, body) = shown.lock().unwrap().answer(&head);
        let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

impl Shown {
    fn answer(&mut self, head: &str) -> (u16, String) {
        self.asked += 1;
        let target = head.split(' ').nth(1).unwrap();
        let token = head.lines().find_map(|line| line.strip_prefix("authorization: "));
        let secret = MacKeys::parse(SECRET).unwrap();
        let token = OriginToken::verify(token, &secret, keys::now()).expect("a good token");
        assert_eq!(token.data_centre, "test");
        let asked = ChangesRequest::read(target.split_once('?').map(|(_, query)| query)).unwrap();
        self.cursors.push(asked.cursor.clone());
        if self.failing {
            return (503, String::new());
        }
        let last = u64::try_from(self.records.len()).unwrap();
        let after = asked.cursor.map_or(0, |cursor| cursor.number_in(BEGUN, last));
        // One on a page, so that there is more.
        let next = self.records.iter().skip(usize::try_from(after).unwrap()).take(1).cloned();
        let number = last.min(after + 1);
        (200, ChangesPage::new(next, Cursor::new(BEGUN, number), number < last).to_json())
    }
}
