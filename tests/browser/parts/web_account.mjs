// An account as people have one: pages, visits, short links, webhooks, a domain, for pictures and tests of the web app.
import assert from "node:assert/strict";
import { callApi } from "./console.mjs";
import { createPage as create } from "./biolink.mjs";

const AGENTS = [
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1",
  "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36",
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36",
  "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0",
];
const REFERRERS = ["https://www.instagram.com/", "https://www.google.com/", "https://t.co/x", ""];
const LANGUAGES = ["de-DE", "en-GB", "fr-FR", "en-US"];

/** Fills the account of a new key. */
export async function fillAccount(web, createPage = create) {
  const page = await createPage(web, {
    slug: "blumen-lotte",
    title: "Blumen Lotte",
    bio: "Flowers from our own field.\nMarket square, Tuesdays and Saturdays.",
    theme: { preset: "sunset", shape: "pill" },
    socials: [{ platform: "instagram", url: "https://instagram.com/blumenlotte" }, { platform: "pinterest", url: "https://pinterest.com/blumenlotte" }],
    links: [
      { title: "Order a bouquet", url: "https://shop.example.com/bouquets", highlight: true, description: "Delivered on the same day" },
      { title: "Workshop: autumn wreaths", url: "https://example.com/workshops", visible_until: "2030-10-31T18:00:00Z" },
      { type: "heading", title: "Visit us" },
      { title: "Opening hours", url: "https://example.com/hours" },
      { type: "whatsapp", title: "Write to us", url: "+49 151 23456789" },
      { type: "phone", title: "Call the shop", url: "+49 40 123456" },
    ],
    codes: [{ via: "flyer", title: "Flyer in May" }, { via: "window", title: "Shop window" }],
    products: { title: "This week", items: [
      { title: "Autumn bouquet", url: "https://shop.example.com/autumn", price: { amount: "29.00", currency: "EUR" }, sale_price: { amount: "24.00", currency: "EUR" } },
      { title: "Dried wreath", url: "https://shop.example.com/wreath", price: { amount: "35.00", currency: "EUR" } },
    ] },
    locale: "en-GB",
    tags: ["shop"],
    status: "published",
  }, { tier: "pro", name: "Lotte Brandt", email: "lotte@example.com" });
  const { key } = page;
  const api = (...request) => callApi(web, key, ...request);
  const draft = await api("POST", "/pages", { title: "Wedding flowers", slug: "wedding-flowers", links: [{ title: "Ask for a date", url: "https://example.com/date" }] });
  await api("POST", "/pages", { title: "Lotte’s garden notes", slug: "garden", status: "published", tags: ["blog"], links: [{ title: "Newest", url: "https://example.com/notes" }] });
  await api("PATCH", `/pages/${page.id}`, { bio: "Flowers from our own field.\nMarket square, Tuesdays, Thursdays and Saturdays." });
  const webhook = await api("POST", "/webhooks", { url: "https://hooks.example.com/crm", description: "CRM", events: ["click", "page_published"] });
  await api("POST", "/v1/keys/me/secrets", { name: "Website", scopes: { tools: ["qr"], biolink: "read" } });
  await visit(web, page);
  const { id } = await api("GET", "/v1/keys/me");
  const empty = await web.issueKey({ biolink_plan: "business", name: "Grace Hopper" });
  return { key, page, draft, webhook, id, empty };
}

/** Visits a page as people do: from phones and computers, from posts, flyers and searches. */
async function visit(web, page) {
  const stored = await callApi(web, page.key, "GET", `/pages/${page.id}`);
  const links = stored.links.filter((link) => link.url && link.type === "link");
  const { codes } = stored.urls;
  for (let nth = 0; nth < 90; nth += 1) {
    const own = { "user-agent": AGENTS[nth % 7 % 4], "accept-language": LANGUAGES[nth % 5 % 4], "x-forwarded-for": `198.51.100.${nth}`, "cf-connecting-ip": `198.51.100.${nth}`, "sec-fetch-dest": "document" };
    const headers = { ...own, ...(REFERRERS[nth % 4] ? { referer: REFERRERS[nth % 4] } : {}) };
    const target = nth % 9 === 0 ? codes.flyer.qr : nth % 13 === 0 ? codes.window.short : `${stored.urls.public}${nth % 3 === 0 ? "?utm_source=instagram&utm_medium=social&utm_campaign=autumn" : ""}`;
    const response = await follow(web, target, headers);
    assert.ok(response.ok, `${target}: ${response.status}`);
    const link = links[nth % 5 % links.length];
    if (nth % 2) await fetch(`${web.origin}/${stored.slug}/l/${link.id}`, { headers: { ...own, referer: stored.urls.public }, redirect: "manual" });
  }
}

/** Follows an address of the gateway to where its redirects end. Its host may be one that only the gateway knows. */
async function follow(web, address, headers) {
  const { pathname, search } = new URL(address);
  const response = await fetch(web.origin + pathname + search, { headers, redirect: "manual" });
  const next = response.headers.get("location");
  return next ? follow(web, new URL(next, address), headers) : response;
}
