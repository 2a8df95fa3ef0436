//! What an error of Pingora's says of an upstream.

use std::io;

use pingora::{Error, ErrorType, RetryType};

use super::connection::ResponseError;
use crate::hooks::Cause;
use crate::relay::exchange::ExchangeError;

/// Returns how a call ended that was sent to an upstream.
pub(super) fn of_upstream(error: &Error) -> ExchangeError {
    // First: as any other failure, it would not let a POST be sent again.
    if is_unprocessed(error) {
        return ExchangeError::Unprocessed;
    }
    if let Some(ResponseError(cause)) = refused(error) {
        return ExchangeError::Upstream { cause, has_responded: true };
    }
    ExchangeError::Upstream { cause: cause(error), has_responded: has_responded(error) }
}

/// Returns the error of a response that was refused while it was read.
fn refused(error: &Error) -> Option<ResponseError> {
    let error = error.root_cause().downcast_ref::<io::Error>()?.get_ref()?;
    error.downcast_ref().copied()
}

/// Returns true if anything had come from the server. Pingora marks the end of a connection before
/// a response, because it may have been idle for too long, but also if it ends within a head.
fn has_responded(error: &Error) -> bool {
    let context = error.context.as_ref().map_or("", |context| context.as_str());
    // Pingora has the number in no other place. Without it, a server that dies within a head would
    // look like a stale connection, and the retry would be free.
    let read = context.rsplit_once("bytes already read: ").map_or("0", |(_, read)| read);
    !matches!(error.retry, RetryType::ReusedOnly) || read != "0"
}

/// Returns true if the server says that it has not processed the request: it refused the stream, or
/// is going away.
fn is_unprocessed(error: &Error) -> bool {
    *error.etype() == ErrorType::H2Error && matches!(error.retry, RetryType::Decided(true))
}

fn cause(error: &Error) -> Cause {
    match error.etype() {
        ErrorType::ReadTimedout | ErrorType::WriteTimedout => Cause::Timeout,
        ErrorType::InvalidHTTPHeader if is_too_large(error) => Cause::HeadersTooLarge,
        ErrorType::InvalidHTTPHeader | ErrorType::H1Error | ErrorType::InvalidH2 | ErrorType::H2Downgrade => {
            Cause::Malformed
        }
        ErrorType::H2Error if error.root_cause().downcast_ref().is_some_and(h2::Error::is_library) => {
            Cause::Malformed
        }
        _ => Cause::Terminated,
    }
}

fn is_too_large(error: &Error) -> bool {
    error.context.as_ref().is_some_and(|context| context.as_str().contains("header larger than"))
}
