// What the service has rendered as HTML: the only place where the console makes elements of a text.
"use strict";
const fragment = (() => {
  const TYPE = "text/html; charset=utf-8";
  // All that views are made of (console/tests.rs compares). Whatever else is in one came from a text of somebody.
  const ELEMENTS = new Set("a b button caption code dd details div dl dt fieldset figcaption figure form h2 h3 input label legend li meter option p pre rect section select span strong summary svg table tbody td textarea th thead time title tr ul".split(" "));
  const ATTRIBUTES = new Set("aria-hidden aria-label aria-sort autocomplete checked class datetime height high href id max maxlength min name novalidate optimum placeholder preserveaspectratio rel required role rows scope selected spellcheck tabindex target type value viewbox width x y".split(" "));
  const DATA = new Set("action column json lines live match method next nullable question refresh reveals template value view".split(" "));
  // `*` is an id or a number.
  const CHANGES = [
    "DELETE /console/sessions", "DELETE /console/sessions/*", "DELETE /domains/*", "DELETE /pages/*", "DELETE /pages/*/product-sources/*", "DELETE /v1/keys/*/secrets/*", "DELETE /v1/keys/me",
    "DELETE /v1/keys/me/secrets/*", "DELETE /v1/status/incidents/*", "DELETE /webhooks/*", "PATCH /pages/*/product-sources/*", "PATCH /v1/keys/*",
    "PATCH /webhooks/*", "POST /admin/accounts/*/restore", "POST /admin/accounts/*/suspend", "POST /admin/pages/*/restore",
    "POST /admin/pages/*/suspend", "POST /domains", "POST /domains/*/verify", "POST /pages", "POST /pages/*/product-sources",
    "POST /pages/*/product-sources/*/refresh", "POST /pages/*/revisions/*/restore", "POST /pages/*/unpublish", "POST /v1/keys/*/revoke",
    "POST /v1/keys/*/rotate", "POST /v1/keys/issue", "POST /v1/keys/me/rotate", "POST /v1/keys/me/secrets", "POST /v1/keys/me/secrets/*/rotate",
    "POST /v1/status/incidents", "POST /v1/status/incidents/*/updates", "POST /webhooks", "POST /webhooks/*/deliveries/*/retry",
    "POST /webhooks/*/replay", "POST /webhooks/*/secret/rotate", "POST /webhooks/*/test", "PUT /pages/*",
  ];
  const CHANGE = new RegExp(`^(${CHANGES.join("|").replaceAll("*", "\\w+")})([?]keep_products=true)?$`);
  // Where browsers have it, the policy of the page lets no other text become HTML.
  const policy = globalThis.trustedTypes?.createPolicy("console", { createHTML: (text) => text }) ?? { createHTML: (text) => text };

  const isAttribute = ({ name }) => (name.startsWith("data-") ? DATA.has(name.slice(5)) : ATTRIBUTES.has(name.toLowerCase()));

  function isKnown(part) {
    const { method, action } = part.dataset;
    return ELEMENTS.has(part.localName) && [...part.attributes].every(isAttribute)
      && (!part.href || /^https?:$/.test(part.protocol)) && (action === undefined || CHANGE.test(`${method} ${action}`));
  }

  const refused = (detail) => Object.assign(new Error(), { title: "The response is no view of the console", detail });

  /** Returns the response of our renderer as a document that is not shown: nothing in it runs, loads or leads away. */
  function parse({ text, type }) {
    if (type !== TYPE) throw refused(`It is ${type || "without a type"}, not ${TYPE}.`);
    return new DOMParser().parseFromString(policy.createHTML(text), "text/html");
  }

  /** Returns the nodes of a view. Throws if it has anything that no view is made of. */
  function view(response) {
    const { head, body } = parse(response);
    const stranger = [...head.querySelectorAll("*"), ...body.querySelectorAll("*")].find((part) => !isKnown(part));
    if (stranger) throw refused(`It has <${stranger.localName}>, which no view has in this way.`);
    return body;
  }

  return { parse, view, doctype: () => policy.createHTML("<!doctype html>") };
})();
