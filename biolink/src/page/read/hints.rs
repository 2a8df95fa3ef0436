//! What other products call our fields.

use shared::fields::Hints;

/// Of a page.
pub(super) const PAGE: Hints = &[
    ("username", "the page's name in its address is `slug`"),
    ("handle", "the page's name in its address is `slug`"),
    ("name", "the heading of the page is `title`"),
    ("display_name", "the heading of the page is `title`"),
    ("description", "the text below the title is `bio`"),
    ("about", "the text below the title is `bio`"),
    ("avatar_url", "write `avatar`: {\"url\": …, \"alt\": …}"),
    ("image", "write `avatar`: {\"url\": …, \"alt\": …}"),
    ("image_url", "write `avatar`: {\"url\": …, \"alt\": …}"),
    ("profile_image", "write `avatar`: {\"url\": …, \"alt\": …}"),
    ("blocks", "the entries of a page are its `links`; each has a `type`"),
    ("items", "the entries of a page are its `links`; each has a `type`"),
    ("buttons", "the entries of a page are its `links`; each has a `type`"),
    ("published", "write `status`: \"published\" or \"unpublished\""),
    ("is_published", "write `status`: \"published\" or \"unpublished\""),
    ("public", "write `status`: \"published\" or \"unpublished\""),
    ("state", "the state of a page is its `status`"),
    ("social_links", "profiles elsewhere are `socials`"),
    ("social", "profiles elsewhere are `socials`"),
    ("social_icons", "profiles elsewhere are `socials`"),
    ("language", "the language of a page is its `locale`"),
    ("lang", "the language of a page is its `locale`"),
    ("direction", "the direction of the text is `dir`"),
    ("background_color", "colors are in `theme`: {\"light\": {\"bg\": …}, \"dark\": {\"bg\": …}}"),
    ("colors", "colors are in `theme`: {\"light\": {\"bg\": …}, \"dark\": {\"bg\": …}}"),
    ("meta_title", "what search engines show is `seo`: {\"title\": …, \"description\": …}"),
    ("meta_description", "what search engines show is `seo`: {\"title\": …, \"description\": …}"),
    ("custom_css", "pages are styled by `theme` alone"),
    ("password", "pages have no passwords; `gate` asks visitors for their age"),
    ("url", "the page's address follows from its `slug`"),
];

/// Of a link.
pub(super) const LINK: Hints = &[
    ("is_enabled", "write `enabled`"),
    ("active", "write `enabled`"),
    ("is_active", "write `enabled`"),
    ("visible", "write `enabled`"),
    ("hidden", "write `enabled`: false"),
    ("disabled", "write `enabled`: false"),
    ("position", "links are shown in the order of the array; PUT /pages/{id}/links/order changes it"),
    ("order", "links are shown in the order of the array; PUT /pages/{id}/links/order changes it"),
    ("sort_order", "links are shown in the order of the array; PUT /pages/{id}/links/order changes it"),
    ("index", "links are shown in the order of the array; PUT /pages/{id}/links/order changes it"),
    ("start_date", "write `visible_from`"),
    ("starts_at", "write `visible_from`"),
    ("schedule_start", "write `visible_from`"),
    ("valid_since", "write `visible_from`"),
    ("end_date", "write `visible_until`"),
    ("ends_at", "write `visible_until`"),
    ("expires_at", "write `visible_until`"),
    ("schedule_end", "write `visible_until`"),
    ("valid_until", "write `visible_until`"),
    ("name", "the text of a link is its `title`"),
    ("label", "the text of a link is its `title`"),
    ("text", "the text of a link is its `title`"),
    ("subtitle", "the second line of a link is its `description`"),
    ("href", "the destination is `url`"),
    ("link", "the destination is `url`"),
    ("destination", "the destination is `url`"),
    ("email", "write `url`: \"mailto:…\""),
    ("phone", "write `url`: \"tel:…\""),
    ("featured", "write `highlight`"),
    ("is_featured", "write `highlight`"),
    ("age_restricted", "write `gate`: {\"kind\": \"age\", \"min\": 18}"),
    ("click_count", "clicks are counted; they are not a field of a link"),
];

/// Of a product.
pub(super) const PRODUCT: Hints = &[
    ("name", "the name of a product is its `title`"),
    ("sku", "the shop's own name for it is `external_id`"),
    ("link", "where it is sold is `url`"),
    ("image_url", "write `image`: {\"url\": …, \"alt\": …}"),
    ("image_link", "write `image`: {\"url\": …, \"alt\": …}"),
    ("currency", "write `price`: {\"amount\": \"15.00\", \"currency\": \"EUR\"}"),
    ("in_stock", "write `availability`: \"in_stock\" or \"out_of_stock\""),
    ("position", "products are shown in the order of the array"),
];

/// Of a profile elsewhere.
pub(super) const SOCIAL: Hints = &[
    ("type", "the site is `platform`"),
    ("network", "the site is `platform`"),
    ("username", "write the whole address as `url`"),
    ("handle", "write the whole address as `url`"),
    ("link", "the address is `url`"),
];

/// Of a theme.
pub(super) const THEME: Hints = &[
    ("name", "the look is a `preset`"),
    ("dark_mode", "write `mode`: \"dark\", \"light\" or \"auto\""),
    ("background", "write `light`: {\"bg\": …} and `dark`: {\"bg\": …}"),
    ("background_color", "write `light`: {\"bg\": …} and `dark`: {\"bg\": …}"),
    ("text_color", "write `light`: {\"fg\": …} and `dark`: {\"fg\": …}"),
    ("button_color", "write `light`: {\"card\": …} and `dark`: {\"card\": …}"),
    ("button_style", "write `shape`: \"rounded\", \"pill\" or \"square\""),
    ("font", "pages use the fonts of the visitor's system"),
    ("custom_css", "pages are styled by presets and color tokens alone"),
];
