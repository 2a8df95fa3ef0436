//! A resolver of DNS over HTTPS, in plain HTTP, with the `TXT` records that a test sets.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::json;

/// The resolver. It ends with its process.
pub struct Resolver {
    addr: SocketAddr,
    records: Arc<Mutex<HashMap<String, String>>>,
}

impl Resolver {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let records = Arc::new(Mutex::new(HashMap::new()));
        let shared = Arc::clone(&records);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
                let first = lines.next().unwrap_or_default();
                lines.find(String::is_empty);
                let body = respond(&first, &mut shared.lock().unwrap());
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/dns-json\r\nConnection: close\r\n";
                let sent = write!(&stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
                drop(sent);
            }
        });
        Self { addr, records }
    }

    /// Returns its address. `POST /?name=NAME&text=TEXT` sets a record, as [`Resolver::set`] does.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Sets the record of a name. With the text `down`, the response to a query for it is no JSON.
    pub fn set(&self, name: &str, text: &str) {
        self.records.lock().unwrap().insert(name.to_owned(), text.to_owned());
    }

    /// Returns the variables of a worker that has domains of accounts and asks this resolver.
    pub fn variables(&self) -> [String; 3] {
        [
            "PUBLIC_URL=https://gateway.example".to_owned(),
            "DOMAINS_TARGET=customers.example.net".to_owned(),
            format!("DNS_URL={}/dns-query", self.url()),
        ]
    }
}

/// Returns the response to a request line.
fn respond(line: &str, records: &mut HashMap<String, String>) -> String {
    let target = line.split(' ').nth(1).unwrap_or_default();
    let rest = target.split_once("name=").map_or("", |(_, rest)| rest);
    let (name, rest) = rest.split_once('&').unwrap_or((rest, ""));
    if let (true, Some(text)) = (line.starts_with("POST "), rest.strip_prefix("text=")) {
        records.insert(name.to_owned(), text.to_owned());
    }
    match records.get(name).map(String::as_str) {
        Some("down") => "no".to_owned(),
        Some(text) => {
            let data = format!("\"{text}\"");
            json!({"Status": 0, "Answer": [{"name": name, "type": 16, "data": data}]}).to_string()
        }
        None => json!({"Status": 3}).to_string(),
    }
}
