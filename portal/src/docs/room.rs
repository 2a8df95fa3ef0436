//! The room that what one tool says of itself has on a page.

use std::borrow::Cow;

use maud::Markup;

/// Room for HTML. What does not fit is left out, and so is everything after it: no time goes into what is not shown, and
/// no tool takes the room of another.
#[derive(Debug)]
pub(super) struct Room {
    left: usize,
}

impl Room {
    /// The longest text of a tool, in characters.
    pub(super) const MAX_TEXT: usize = 2_000;

    /// Creates room for this many bytes.
    pub(super) const fn new(bytes: usize) -> Self {
        Self { left: bytes }
    }

    /// Returns true if something was left out.
    pub(super) const fn is_used_up(&self) -> bool {
        self.left == 0
    }

    /// Returns what `render` makes. Returns nothing if it does not fit.
    pub(super) fn take(&mut self, render: impl FnOnce() -> Markup) -> Option<Markup> {
        if self.is_used_up() {
            return None;
        }
        let piece = render();
        let fits = piece.0.len() < self.left;
        self.left = if fits { self.left - piece.0.len() } else { 0 };
        fits.then_some(piece)
    }
}

/// Returns a text, or the beginning of a long one.
pub(super) fn shortened(text: &str, characters: usize) -> Cow<'_, str> {
    match text.char_indices().nth(characters) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use maud::html;

    use super::*;

    #[test]
    fn what_does_not_fit_is_left_out_and_so_is_all_after_it() {
        let mut room = Room::new(20);
        assert!(room.take(|| html! { p { "a" } }).is_some());
        assert!(!room.is_used_up());
        assert!(room.take(|| html! { p { "too long for it" } }).is_none());
        assert!(room.is_used_up() && room.take(|| unreachable!("nothing is rendered")).is_none());
    }

    #[test]
    fn text_is_shortened_between_characters() {
        assert_eq!((shortened("äö", 2), shortened("äöü", 2)), ("äö".into(), "äö…".into()));
    }
}
