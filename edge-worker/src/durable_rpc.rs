//! Requests to Durable Objects: a JSON message out, a text back.

use worker::{ObjectNamespace, Stub, web_sys};

/// A placeholder: objects have no address of their own, and the runtime requires a URL.
const URL: &str = "https://object/";

/// Sends `message` to the object of this name. Returns the body of its response.
///
/// # Errors
/// If the request fails or the response is not 200.
pub(crate) async fn ask(namespace: &ObjectNamespace, name: &str, message: &str) -> worker::Result<String> {
    let stub: Stub = namespace.get_by_name(name)?;
    let init = web_sys::RequestInit::new();
    init.set_method("POST");
    init.set_body(&message.into());
    let request = web_sys::Request::new_with_str_and_init(URL, &init)?;
    let mut response = stub.fetch_with_request(request.into()).await?;
    let text = response.text().await?;
    match response.status_code() {
        200 => Ok(text),
        status => Err(format!("the object responded {status}").into()),
    }
}
