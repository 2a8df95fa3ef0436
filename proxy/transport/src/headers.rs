//! Appends header lines to a head.

/// The head of a message, to which header lines are appended.
pub trait Headers {
    /// Appends a header.
    fn write_header(&mut self, name: &str, value: &[u8]);

    /// Appends a header whose value is formatted.
    fn write_header_fmt(&mut self, name: &str, value: impl std::fmt::Display);
}

impl Headers for Vec<u8> {
    fn write_header(&mut self, name: &str, value: &[u8]) {
        // Not in a loop: parts of a known length are stores then, and no calls that copy.
        self.reserve(name.len() + value.len() + 4);
        self.extend_from_slice(name.as_bytes());
        self.extend_from_slice(b": ");
        self.extend_from_slice(value);
        self.extend_from_slice(b"\r\n");
    }

    fn write_header_fmt(&mut self, name: &str, value: impl std::fmt::Display) {
        use std::io::Write as _;
        // Writing to a vector cannot fail.
        let _written = write!(self, "{name}: {value}\r\n");
    }
}
