//! Commands of a test to a server, by its administrator.

use std::{
    io::{self, BufRead, BufReader, Write as _},
    net::TcpStream,
};

use super::access::{ADMIN, PASSWORD};

/// Sends a command as the administrator. Returns the texts of the reply, and `-…` for an error.
///
/// # Errors
/// If the server does not reply.
pub(super) fn try_send(port: u16, command: &[&str]) -> io::Result<Vec<String>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    for command in [&["AUTH", ADMIN, PASSWORD], command] {
        let mut bytes = format!("*{}\r\n", command.len());
        command.iter().for_each(|word| bytes.push_str(&format!("${}\r\n{word}\r\n", word.len())));
        stream.write_all(bytes.as_bytes())?;
    }
    let mut replies = BufReader::new(stream);
    let (mut signed_in, mut texts) = (Vec::new(), Vec::new());
    read(&mut replies, &mut signed_in)?;
    read(&mut replies, &mut texts)?;
    Ok(texts)
}

/// Does the same with a server that replies.
///
/// # Panics
/// If it does not.
pub(super) fn send(port: u16, command: &[&str]) -> Vec<String> {
    try_send(port, command).unwrap_or_else(|error| panic!("{command:?} to {port}: {error}"))
}

/// Reads a reply. Appends its texts.
fn read(from: &mut impl BufRead, texts: &mut Vec<String>) -> io::Result<()> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let line = line.trim_end();
    let length = || line[1..].parse::<i64>().map_err(io::Error::other);
    match line.as_bytes().first() {
        Some(b'*') => (0..length()?).try_for_each(|_| read(from, texts)),
        Some(b'$') => {
            let length = usize::try_from(length()?);
            if let Ok(length) = length {
                let mut bytes = vec![0; length + 2];
                from.read_exact(&mut bytes)?;
                texts.push(String::from_utf8_lossy(&bytes[..length]).into_owned());
            }
            Ok(())
        }
        Some(b'-') => {
            texts.push(line.to_owned());
            Ok(())
        }
        Some(_) => {
            texts.push(line[1..].to_owned());
            Ok(())
        }
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}
