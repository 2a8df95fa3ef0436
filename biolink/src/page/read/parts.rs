//! The parts of a page.

use serde::de::DeserializeOwned;
use serde_json::Value;
use shared::{
    fields::{Fields, TypeError, text, with_decimal_point},
    json,
    time::UnixMillis,
};

use super::{
    hints,
    invalid_value::InvalidValue,
    texts::{long_text, plain_text},
};
use crate::page::{
    ImageUrl, LinkId, ProductId, SourceId, Via, WebUrl,
    document::{
        Background, Color, DEFAULT, FALLBACK, Fallback, Gate, Image, Link, LinkTarget, LinkType, PageCode,
        Palette, Price, Product, Rel, Seo, Social, Theme, UtmTemplate,
    },
};

/// Most targets of a link.
pub(super) const MAX_TARGETS: usize = 10;
/// Most countries, devices or languages of a target.
const MAX_CODES: usize = 50;

pub(super) fn read_link(fields: &mut Fields, id: LinkId) -> Option<Link> {
    fields.hint(hints::LINK);
    let kind = fields.nullable("type", name_of::<LinkType>).unwrap_or_default();
    let title = match kind {
        LinkType::Divider => fields.nullable("title", |value| plain_text(value, 0, 0)),
        LinkType::Text => fields.required("title", |value| {
            long_text(value, 500, 10)
                .and_then(|text| if text.is_empty() { Err(InvalidValue::from("is empty")) } else { Ok(text) })
        }),
        _ => fields.required("title", |value| plain_text(value, 1, 120)),
    };
    let url =
        |value: &Value| kind.check_url(text(value)?).map_err(|error| InvalidValue::from(error.to_string()));
    let url = if kind.has_url() { fields.required("url", url) } else { fields.nullable("url", url) };
    let link = Link {
        id,
        kind,
        title: title.unwrap_or_default(),
        description: description(fields),
        url,
        enabled: fields.nullable("enabled", boolean).unwrap_or(true),
        highlight: fields.nullable("highlight", boolean).unwrap_or_default(),
        direct: fields.nullable("direct", boolean).unwrap_or_default(),
        visible_from: fields.nullable("visible_from", moment),
        visible_until: fields.nullable("visible_until", moment),
        gate: fields.nullable_object("gate", read_gate).flatten(),
        rel: fields.nullable("rel", parse_rel).unwrap_or_default(),
        icon: fields.nullable("icon", name_of),
        image: fields.nullable_object("image", |image| read_image(image, false)).flatten(),
        targets: fields.nullable_list("targets", MAX_TARGETS, read_target).unwrap_or_default(),
        fallback: fields.nullable_object("fallback", read_fallback).flatten(),
        utm: fields.nullable_object("utm", read_utm),
    };
    let leads_away = matches!(kind, LinkType::Link | LinkType::File) && !link.direct;
    for (name, is_there) in [("targets", !link.targets.is_empty()), ("fallback", link.fallback.is_some())] {
        if is_there && !leads_away {
            let detail =
                "needs a link of the type link or file that is not `direct`, because a redirect chooses";
            fields.add_error(name, detail.to_owned());
        }
    }
    if link.fallback.is_some() && link.visible_until.is_none() {
        fields.add_error("fallback", "needs a `visible_until`, after which it counts".to_owned());
    }
    if let (Some(from), Some(until)) = (link.visible_from, link.visible_until)
        && until <= from
    {
        fields.add_error("visible_until", "must be later than `visible_from`".to_owned());
    }
    if link.direct && link.gate.is_some() {
        fields.add_error(
            "direct",
            "must be false for a link with a `gate`, which visitors would not see".to_owned(),
        );
    }
    Some(link)
}

fn read_target(fields: &mut Fields) -> Option<LinkTarget> {
    let target = LinkTarget {
        name: fields.nullable("name", |value| plain_text(value, 1, 40)),
        countries: fields.nullable("countries", |value| codes(value, parse_country)).unwrap_or_default(),
        devices: fields.nullable("devices", |value| codes(value, name_of)).unwrap_or_default(),
        languages: fields.nullable("languages", |value| codes(value, parse_language)).unwrap_or_default(),
        url: fields.required("url", web_url),
    };
    if target.countries.is_empty() && target.devices.is_empty() && target.languages.is_empty() {
        let detail = "needs one of `countries`, `devices` and `languages`; the default is the link's `url`";
        fields.add_object_error(detail);
    }
    if target.name.as_deref().is_some_and(|name| matches!(name, DEFAULT | FALLBACK)) {
        fields.add_error("name", format!("must not be {DEFAULT} or {FALLBACK}, which have these names"));
    }
    target.url.is_some().then_some(target)
}

/// Returns a list of at most 50 texts, each read with `read`.
fn codes<T>(value: &Value, read: impl Fn(&Value) -> Result<T, InvalidValue>) -> Result<Vec<T>, InvalidValue> {
    let list = value.as_array().filter(|list| list.len() <= MAX_CODES);
    let list = list.ok_or_else(|| format!("must be an array of at most {MAX_CODES} strings"))?;
    list.iter().map(read).collect()
}

fn parse_country(value: &Value) -> Result<String, InvalidValue> {
    let country = text(value)?;
    let valid = country.len() == 2 && country.bytes().all(|byte| byte.is_ascii_alphabetic());
    let expected = "must have two-letter codes of countries such as DE (ISO 3166-1)";
    if valid { Ok(country.to_ascii_uppercase()) } else { Err(expected.into()) }
}

fn parse_language(value: &Value) -> Result<String, InvalidValue> {
    let language = text(value)?;
    let valid = (2..=3).contains(&language.len()) && language.bytes().all(|byte| byte.is_ascii_alphabetic());
    let expected = "must have languages without a region, such as de (RFC 5646)";
    if valid { Ok(language.to_ascii_lowercase()) } else { Err(expected.into()) }
}

fn read_fallback(fields: &mut Fields) -> Option<Fallback> {
    fields.required("url", web_url).map(|url| Fallback { url })
}

pub(super) fn read_utm(fields: &mut Fields) -> UtmTemplate {
    let mut value = |name| {
        fields.nullable(name, |value| {
            let text = plain_text(value, 1, 100)?;
            let expected = format!("may have the placeholders {}", UtmTemplate::PLACEHOLDERS.join(", "));
            if UtmTemplate::is_value(&text) { Ok(text) } else { Err(InvalidValue::from(expected)) }
        })
    };
    UtmTemplate {
        source: value("source"),
        medium: value("medium"),
        campaign: value("campaign"),
        term: value("term"),
        content: value("content"),
    }
}

pub(super) fn read_code(fields: &mut Fields) -> Option<PageCode> {
    let via = fields.required("via", |value| {
        let typed = text(value)?;
        Via::parse(typed).ok_or_else(|| {
            let expected = "must have 2 to 24 of a-z, 0-9, - and _, and not be qr";
            match Via::suggested(typed) {
                Some(via) => format!("{expected}: `{via}` would do, and `title` takes any text").into(),
                None => InvalidValue::from(expected),
            }
        })
    });
    let title = fields.nullable("title", |value| plain_text(value, 1, 80));
    let link = fields.nullable("link", |value| {
        LinkId::parse(text(value)?).ok_or_else(|| InvalidValue::from("must be the id of a link of this page"))
    });
    Some(PageCode { via: via?, title, link })
}

/// Reads a product. `source` is where the stored one with its id comes from.
pub(super) fn read_product(fields: &mut Fields, id: ProductId, source: Option<SourceId>) -> Option<Product> {
    fields.hint(hints::PRODUCT);
    let product = (
        fields.nullable("external_id", |value| plain_text(value, 1, 100)),
        fields.required("title", |value| plain_text(value, 1, 120)),
        description(fields),
        fields.required("url", web_url),
        fields.nullable_object("image", |image| read_image(image, false)).flatten(),
        fields.nullable_object("price", read_price).flatten(),
        fields.nullable_object("sale_price", read_price).flatten(),
        fields.nullable("sale_from", moment),
        fields.nullable("sale_until", moment),
        fields.nullable("price_varies", boolean).unwrap_or_default(),
        fields.nullable("availability", name_of).unwrap_or_default(),
    );
    let (
        external_id,
        title,
        description,
        url,
        image,
        price,
        sale_price,
        sale_from,
        sale_until,
        price_varies,
        availability,
    ) = product;
    if let Some(sale) = &sale_price
        && price.as_ref().map(|price| &price.currency) != Some(&sale.currency)
    {
        fields.add_error("sale_price", "needs a `price` in the same currency".to_owned());
    }
    if let (Some(from), Some(until)) = (sale_from, sale_until)
        && until <= from
    {
        fields.add_error("sale_until", "must be later than `sale_from`".to_owned());
    }
    Some(Product {
        id,
        external_id,
        title: title?,
        description,
        url: url?,
        image,
        price,
        sale_price,
        sale_from,
        sale_until,
        price_varies,
        availability,
        source,
    })
}

pub(super) fn read_social(fields: &mut Fields) -> Option<Social> {
    fields.hint(hints::SOCIAL);
    let platform = fields.required("platform", name_of);
    let url = fields.required("url", web_url);
    let label = fields.nullable("label", |value| plain_text(value, 1, 60));
    Some(Social { platform: platform?, url: url?, label })
}

pub(super) fn read_theme(fields: &mut Fields) -> Theme {
    fields.hint(hints::THEME);
    let theme = Theme {
        preset: fields.nullable("preset", name_of).unwrap_or_default(),
        mode: fields.nullable("mode", name_of).unwrap_or_default(),
        light: fields.nullable_object("light", read_palette).unwrap_or_default(),
        dark: fields.nullable_object("dark", read_palette).unwrap_or_default(),
        shape: fields.nullable("shape", name_of),
        density: fields.nullable("density", name_of).unwrap_or_default(),
        font: fields.nullable("font", name_of),
        buttons: fields.nullable("buttons", name_of),
        background: fields.nullable("background", name_of),
        image: fields.nullable_object("image", |image| read_image(image, false)).flatten(),
    };
    if theme.background == Some(Background::Image) && theme.image.is_none() {
        fields.add_error("background", "needs an `image`".to_owned());
    }
    for (mode, colors) in [("light", theme.light()), ("dark", theme.dark())] {
        if let Err(error) = colors.check() {
            fields.add_error(mode, format!("`{}` {error}", error.token));
        }
    }
    theme
}

fn read_palette(fields: &mut Fields) -> Palette {
    let mut color = |name| {
        fields.nullable(name, |value| {
            Color::parse(text(value)?).ok_or_else(|| InvalidValue::from("must be a color such as #1d4ed8"))
        })
    };
    Palette {
        bg: color("bg"),
        fg: color("fg"),
        card: color("card"),
        accent: color("accent"),
        end: color("end"),
    }
}

pub(super) fn read_seo(fields: &mut Fields) -> Seo {
    Seo {
        title: fields.nullable("title", |value| plain_text(value, 1, 70)),
        description: fields.nullable("description", |value| plain_text(value, 1, 200)),
        image: fields.nullable_object("image", |image| read_image(image, false)).flatten(),
        noindex: fields.nullable("noindex", boolean).unwrap_or_default(),
        kind: fields.nullable("type", name_of).unwrap_or_default(),
    }
}

pub(super) fn read_avatar(fields: &mut Fields) -> Option<Image> {
    read_image(fields, true)
}

pub(super) fn read_cover(fields: &mut Fields) -> Option<Image> {
    read_image(fields, false)
}

fn read_image(fields: &mut Fields, needs_alt: bool) -> Option<Image> {
    let url = fields.required("url", |value| match ImageUrl::own(text(value)?) {
        Some(id) => Ok(ImageUrl::Own(id)),
        None => match web_url(value)? {
            url if url.is_https() => Ok(ImageUrl::Foreign(url)),
            _ => Err(InvalidValue::from("must begin with https://, or browsers will not show it")),
        },
    });
    let alt = |value: &Value| plain_text(value, usize::from(needs_alt), 150);
    let alt = if needs_alt {
        fields.required("alt", alt)?
    } else {
        fields.nullable("alt", alt).unwrap_or_default()
    };
    Some(Image { url: url?, alt })
}

pub(super) fn read_gate(fields: &mut Fields) -> Option<Gate> {
    let kind = fields.required("kind", |value| match text(value)? {
        "age" => Ok(true),
        "sensitive" => Ok(false),
        _ => Err(InvalidValue::from("must be one of age, sensitive")),
    });
    let years = |value: &Value| {
        let years =
            value.as_u64().and_then(|years| u8::try_from(years).ok()).filter(|y| (13..=25).contains(y));
        years.ok_or_else(|| InvalidValue::from("must be a whole number of years from 13 to 25"))
    };
    if kind? { Some(Gate::Age { min: fields.required("min", years)? }) } else { Some(Gate::Sensitive) }
}

fn read_price(fields: &mut Fields) -> Option<Price> {
    let amount = fields.required("amount", parse_amount);
    let currency = fields.required("currency", |value| {
        let currency = text(value)?;
        let valid = currency.len() == 3 && currency.bytes().all(|byte| byte.is_ascii_uppercase());
        if valid {
            Ok(currency.to_owned())
        } else {
            Err(InvalidValue::from("must be three capital letters such as EUR (ISO 4217)"))
        }
    });
    Some(Price { amount: amount?, currency: currency? })
}

fn parse_amount(value: &Value) -> Result<String, InvalidValue> {
    let expected = || {
        InvalidValue::from("must be a string such as \"1500.00\": digits, with a point before the decimals")
    };
    let text = with_decimal_point(value.as_str().ok_or_else(expected)?).into_owned();
    let (whole, rest) = text.split_once('.').map_or((&*text, None), |(whole, rest)| (whole, Some(rest)));
    let digits = |part: &str, max: usize| {
        (1..=max).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let plain = digits(whole, 9) && (whole == "0" || !whole.starts_with('0'));
    if plain && rest.is_none_or(|rest| digits(rest, 3)) { Ok(text) } else { Err(expected()) }
}

fn parse_rel(value: &Value) -> Result<Vec<Rel>, InvalidValue> {
    let rel = value.as_array().filter(|rel| rel.len() <= 3);
    let rel = rel.ok_or_else(|| InvalidValue::from("must be an array of nofollow, sponsored and ugc"))?;
    rel.iter().map(name_of).collect()
}

fn description(fields: &mut Fields) -> Option<String> {
    fields.nullable("description", |value| plain_text(value, 1, 200))
}

fn web_url(value: &Value) -> Result<WebUrl, InvalidValue> {
    Ok(WebUrl::parse_typed(text(value)?)?)
}

/// Reads a moment.
///
/// # Errors
/// Returns what a time looks like.
pub(crate) fn moment(value: &Value) -> Result<UnixMillis, InvalidValue> {
    UnixMillis::from_rfc3339(text(value)?)
        .ok_or_else(|| InvalidValue::from("must be a time such as 2027-01-31T12:00:00+01:00 (RFC 3339)"))
}

pub(crate) fn boolean(value: &Value) -> Result<bool, InvalidValue> {
    value.as_bool().ok_or_else(|| TypeError::new("true or false", value).into())
}

/// Returns the variant of an enum that a text names.
///
/// # Errors
/// Returns the names that there are.
pub(crate) fn name_of<T: DeserializeOwned>(value: &Value) -> Result<T, InvalidValue> {
    json::variant(text(value)?).map_err(unknown_name)
}

/// Not generic, so that the worker has it once.
fn unknown_name(names: &[&str]) -> InvalidValue {
    match names {
        [one] => format!("must be {one}").into(),
        [one, other] => format!("must be {one} or {other}").into(),
        names => format!("must be one of {}", names.join(", ")).into(),
    }
}
