//! A request's body on its way to an origin.
//!
//! The body stays a stream of the runtime's own: only its first piece passes through our hands, and nothing is
//! copied. That piece is handed over in two writes, all of it but the last byte, then the last byte. The runtime takes
//! the first write before it has a connection (tried in workerd), and the second only once the first has gone out on
//! one. So while the last byte has not been taken, no origin has a whole request, and the same piece can be handed to
//! another one.

use std::cell::Cell;

use shared::{problem::Problem, route::CallMethod};
use wasm_bindgen::{JsCast, JsValue};
use worker::{
    js_sys::{Array, BigInt, Function, Reflect, Uint8Array, global},
    web_sys,
};

use super::Passage;
use crate::{body, promise};

/// A body of which the first piece has been read.
pub(super) struct Upload {
    source: web_sys::ReadableStream,
    first: Uint8Array,
    length: Option<u64>,
    /// Whether more than the first piece has been handed over.
    beyond_first: Cell<bool>,
}

/// One way for the body to an origin.
pub(super) struct Pipe {
    /// What the origin is sent.
    pub(super) readable: web_sys::ReadableStream,
    writable: web_sys::WritableStream,
    writer: web_sys::WritableStreamDefaultWriter,
    last_byte: worker::js_sys::Promise,
}

impl Upload {
    /// Waits for the first piece of the body; `None` when there is no body, or an empty one.
    ///
    /// # Errors
    /// `request-timeout` or `body-malformed`.
    pub(super) async fn begin(passage: &Passage<'_>) -> Result<Option<Self>, Problem> {
        let (incoming, length) = (passage.edge.incoming, passage.edge.head.content_length);
        let source = match (passage.call.method, incoming.request.body()) {
            (CallMethod::Post, Some(source)) if length != Some(0) => source,
            // A body of a GET has no meaning (RFC 9110 section 9.3.1), and the runtime sends none.
            (CallMethod::Get | CallMethod::Post, _) => return Ok(None),
        };
        let reader: web_sys::ReadableStreamDefaultReader = source.get_reader().unchecked_into();
        let mut first = body::next_chunk(&reader, incoming).await?;
        while first.as_ref().is_some_and(|piece| piece.length() == 0) {
            first = body::next_chunk(&reader, incoming).await?;
        }
        reader.release_lock();
        Ok(first.map(|first| Self { source, first, length, beyond_first: Cell::new(false) }))
    }

    /// Whether all that has been handed over is still in hand.
    pub(super) const fn can_repeat(&self) -> bool {
        !self.beyond_first.get()
    }

    fn is_whole(&self) -> bool {
        self.length == Some(self.first.length().into())
    }

    /// A new way for the body, with the first piece under way on it.
    pub(super) fn open(&self) -> Result<Pipe, JsValue> {
        let stream = match self.length {
            Some(length) => construct("FixedLengthStream", &[BigInt::from(length).into()])?,
            None => construct("IdentityTransformStream", &[])?,
        };
        let (readable, writable) = (stream.readable(), stream.writable());
        let writer = writable.get_writer()?;
        let last = self.first.length().saturating_sub(1);
        if last > 0 {
            promise::let_go(writer.write_with_chunk(&self.first.subarray(0, last)));
        }
        let last_byte = writer.write_with_chunk(&self.first.subarray(last, self.first.length()));
        Ok(Pipe { readable, writable, writer, last_byte })
    }

    /// Starts what follows the first piece, which then goes on by itself.
    pub(super) fn start_rest(&self, pipe: &Pipe) -> worker::js_sys::Promise {
        if self.is_whole() {
            return pipe.writer.close();
        }
        self.beyond_first.set(true);
        pipe.writer.release_lock();
        self.source.pipe_to(&pipe.writable)
    }
}

impl Pipe {
    /// Waits until the first piece has gone out, its last byte included.
    pub(super) async fn first_sent(&self) -> Result<(), JsValue> {
        promise::settled(self.last_byte.clone()).await.map(|_| ())
    }
}

/// A transform stream of the runtime's own, of which one keeps `Content-Length` and neither copies.
fn construct(class: &str, arguments: &[JsValue]) -> Result<web_sys::TransformStream, JsValue> {
    let class: Function = Reflect::get(&global(), &class.into())?.dyn_into()?;
    Ok(Reflect::construct(&class, &arguments.iter().collect::<Array>())?.unchecked_into())
}
