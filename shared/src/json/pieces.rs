//! A text that is written in short pieces.

use std::io::{Result, Write};

/// Pieces of up to this many bytes are copied one by one.
const SHORT: usize = 24;

/// The bytes of a text. `serde_json` writes each comma and quote for itself. In wasm a `Vec` copies them
/// by an instruction that is a call of the runtime, so short pieces are pushed instead.
pub(super) struct Pieces(pub(super) Vec<u8>);

impl Write for Pieces {
    fn write(&mut self, piece: &[u8]) -> Result<usize> {
        self.write_all(piece).map(|()| piece.len())
    }

    fn write_all(&mut self, piece: &[u8]) -> Result<()> {
        match piece.len() {
            ..=SHORT => piece.iter().for_each(|byte| self.0.push(*byte)),
            _ => self.0.extend_from_slice(piece),
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}
