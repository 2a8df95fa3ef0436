//! The section of an operation.

use maud::{Markup, html};

use super::super::layout::sample;
use super::super::model::{Authentication, Body, Operation, Reply};
use super::super::snippet::{Call, json};
use super::super::text::inline;
use super::Place;

/// Returns the section of an operation.
pub(super) fn operation(operation: &Operation<'_>, place: &Place<'_, '_>) -> Markup {
    html! {
        section.op id=(operation.id) {
            h3 { a href=(format!("#{}", operation.id)) { (super::title(operation)) } }
            div.sides {
                div {
                    p { (method_and_path(operation)) " " (authentication(operation.authentication)) }
                    p { (inline(operation.about)) }
                    (parameters(operation))
                    @if let Some(body) = &operation.body { (describe_body(body, place)) }
                    @for reply in &operation.replies { (describe_reply(reply, place)) }
                    (problems(operation, place))
                }
                div {
                    (Call::of(operation).snippet().markup())
                    @for reply in &operation.replies { (examples(reply)) }
                }
            }
        }
    }
}

fn method_and_path(operation: &Operation<'_>) -> Markup {
    html! { code.route { b { (operation.method) } " " (operation.path) } }
}

fn authentication(authentication: Authentication) -> Markup {
    let name = match authentication {
        Authentication::None => "no key",
        Authentication::ApiKey => "API key",
        Authentication::AdminSecret => "admin secret",
    };
    html! { span.badge.soft { (name) } }
}

fn parameters(operation: &Operation<'_>) -> Markup {
    html! {
        @if !operation.parameters.is_empty() {
            table {
                thead { tr { th scope="col" { "Parameter" } th scope="col" { "Type, limits and meaning" } } }
                tbody {
                    @for parameter in &operation.parameters {
                        tr {
                            th scope="row" {
                                code { (parameter.name) }
                                small { (parameter.place) @if parameter.required { " " b { "required" } } }
                            }
                            td { small { (inline(&parameter.kind)) } (inline(parameter.about)) }
                        }
                    }
                }
            }
        }
    }
}

fn describe_body(body: &Body<'_>, place: &Place<'_, '_>) -> Markup {
    html! {
        p {
            "Body" @if !body.required { ", which may be left out" } ": "
            @match body.schema {
                Some(schema) => (place.object(schema)),
                None => "a JSON object whose members the tool defines",
            }
        }
    }
}

fn describe_reply(reply: &Reply<'_>, place: &Place<'_, '_>) -> Markup {
    html! {
        p {
            b.status { (reply.status) } " " (inline(reply.about))
            @for content in &reply.contents {
                @match content.schema {
                    Some(schema) => { " " (place.object(schema)) },
                    None => { " " code { (content.media_type) } },
                }
            }
            @if !reply.headers.is_empty() {
                small { "Headers: " (reply.headers.join(", ")) }
            }
        }
    }
}

fn examples(reply: &Reply<'_>) -> Markup {
    html! {
        @for content in &reply.contents {
            @if let Some(example) = content.example {
                details open[content.media_type == "application/json"] {
                    summary { "Response " (reply.status) " as " (content.media_type) }
                    @match example.as_str() { Some(text) => (sample(text)), None => (sample(&json(example))) }
                }
            }
        }
    }
}

/// Returns the problems of an operation. Those of every request are listed once for all.
fn problems(operation: &Operation<'_>, place: &Place<'_, '_>) -> Markup {
    let anywhere = &place.reference.anywhere;
    let own: Vec<_> = operation.codes.iter().filter(|code| !anywhere.contains(code)).collect();
    html! {
        p.errors {
            "Errors: "
            @for code in own {
                a href=(format!("/problems/{}", code.as_str())) { (code.as_str()) } ", "
            }
            a href="/docs/errors#any-request" { "those of any request" }
        }
    }
}
