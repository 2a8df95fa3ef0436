//! The objects that operations take and return.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::super::model::{Description, Field, Object, Operation};
use super::super::text::inline;
use super::Place;

/// Returns all objects that these operations use, directly or inside others, by name.
pub(super) fn used<'a>(description: &'a Description, operations: &[Operation<'a>]) -> Vec<Object<'a>> {
    let mut waiting: Vec<&str> = operations
        .iter()
        .flat_map(|operation| {
            let replies = operation.replies.iter().flat_map(|reply| reply.contents.iter());
            let replied = replies.filter_map(|content| content.schema);
            operation.body.as_ref().and_then(|body| body.schema).into_iter().chain(replied)
        })
        .collect();
    let mut used = BTreeMap::new();
    while let Some(name) = waiting.pop() {
        if used.contains_key(name) {
            continue;
        }
        if let Some(object) = description.object(name) {
            waiting.extend(object.components());
            used.insert(name, object);
        }
    }
    used.into_values().collect()
}

/// Returns the section of an object.
pub(super) fn describe(object: &Object<'_>, place: &Place<'_, '_>) -> Markup {
    html! {
        section id=(object.name) {
            h3 { a href=(format!("#{}", object.name)) { (object.name) } }
            @if !object.about.is_empty() { p { (inline(object.about)) } }
            @if !object.choices.is_empty() {
                p { "One of" @for name in &object.choices { " " (place.object(name)) } }
            }
            @if !object.fields.is_empty() { (fields(&object.fields, place)) }
        }
    }
}

fn fields(fields: &[Field<'_>], place: &Place<'_, '_>) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "Field" } th scope="col" { "Type, limits and meaning" } } }
            tbody {
                @for field in fields {
                    tr {
                        th scope="row" { code { (field.name) } @if field.required { small { b { "required" } } } }
                        td { small { (kind(field, place)) } (inline(field.about)) }
                    }
                }
            }
        }
    }
}

/// Returns the type of a field, with a link to the object that it names.
fn kind(field: &Field<'_>, place: &Place<'_, '_>) -> Markup {
    match field.component.and_then(|name| field.kind.split_once(name).map(|parts| (name, parts))) {
        Some((name, (before, after))) => {
            html! { (inline(before)) (place.object(name)) (inline(after)) }
        }
        None => inline(&field.kind),
    }
}
