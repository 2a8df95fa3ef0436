//! The headers of a message in one text, as the runtime hands them over.

/// Names and values of headers, one a line, split once for all look-ups.
pub(crate) struct HeaderText {
    text: String,
    /// For each header, where its name begins and ends, and where its value ends.
    places: Vec<(usize, usize, usize)>,
}

impl HeaderText {
    /// Splits a text that has a name or a value on each line, in turns.
    pub(crate) fn new(text: String) -> Self {
        let mut places = Vec::with_capacity(16);
        let (mut start, mut name_end) = (0, None);
        for (at, _) in text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n') {
            match name_end.take() {
                None => name_end = Some(at),
                Some(end) => {
                    places.push((start, end, at));
                    start = at + 1;
                }
            }
        }
        Self { text, places }
    }

    /// Returns names and values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.places.iter().filter_map(|&(start, name_end, end)| {
            Some((self.text.get(start..name_end)?, self.text.get(name_end + 1..end)?))
        })
    }

    /// Returns the first value of this name, which must be in lower case.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(other, _)| *other == name).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_names_and_values_in_turns() {
        let headers = HeaderText::new("accept\n*/*\nx-empty\n\nhost\nexample.com\n".to_owned());
        let all: Vec<_> = headers.iter().collect();
        assert_eq!(all, [("accept", "*/*"), ("x-empty", ""), ("host", "example.com")]);
        assert_eq!((headers.get("host"), headers.get("x-empty")), (Some("example.com"), Some("")));
        assert_eq!((headers.get("example.com"), headers.get("")), (None, None));
        assert_eq!(HeaderText::new(String::new()).iter().count(), 0);
    }
}
