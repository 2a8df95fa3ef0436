// What an account has to do with others, for pictures: shops, receivers, domains, tools, and an operator who looks at it.
import assert from "node:assert/strict";
import { until } from "./analytics.mjs";
import { callApi } from "./console.mjs";
import { image } from "./images.mjs";
import { startOutside } from "./outside.mjs";

const JSON_TYPE = "application/json";
const FEED = {
  items: [["Autumn bouquet", "29.00", "24.00"], ["Dried wreath", "35.00"], ["Dahlias, ten stems", "18.50"], ["Vase of green glass", "42.00"], ["Bulbs for spring", "12.00"]].map(([title, amount, sale], at) => ({
    external_id: `LOTTE-${at}`,
    title,
    url: `https://shop.example.com/${at}`,
    image: { url: image(`flower-${at}`) },
    price: { amount, currency: "EUR" },
    ...(sale ? { sale_price: { amount: sale, currency: "EUR" } } : {}),
  })),
};

/** Connects an account of `fillAccount` to what is outside. `end` ends that, and `failing` is the webhook that fails. */
export async function connectServices(gateway, { key, page, webhook }) {
  const { end, address } = await startOutside({
    "/feed.json": [200, JSON_TYPE, JSON.stringify(FEED)],
    "/crm": [200, JSON_TYPE, "{}"],
    "/newsletter": [500, "text/plain", "The database is full."],
  });
  // 127.0.0.1 is a host of the gateway itself, which calls none of its own.
  const origin = `http://${address.replace("127.0.0.1", "localhost")}`;
  const api = (...request) => callApi(gateway, key, ...request);
  await connectShops(api, page, origin);
  const failing = await connectReceivers(api, webhook, origin);
  await openLink(gateway, page);
  await connectDomains(gateway, api, page);
  await callTools(gateway, key);
  await report(gateway, page);
  return { failing, end };
}

/** A shop whose feed is read, and one that is gone. */
async function connectShops(api, page, origin) {
  await api("PATCH", `/pages/${page.id}`, { products: { ...page.products, items: [] } });
  for (const url of [`${origin}/feed.json`, "https://old-shop.blumen-lotte.example/merchant.xml"]) {
    const path = `/pages/${page.id}/product-sources`;
    const { id } = await api("POST", path, { url });
    await until(`run of ${url}`, async () => (await api("GET", `${path}/${id}/runs`)).data.length > 0);
  }
}

/** The account's webhook with deliveries that arrived, and one whose receiver fails, whose id it returns. */
async function connectReceivers(api, webhook, origin) {
  await api("PATCH", `/webhooks/${webhook.id}`, { url: `${origin}/crm` });
  const failing = await api("POST", "/webhooks", { url: `${origin}/newsletter`, description: "Newsletter", events: ["click", "qr_scan"] });
  for (const [id, type] of [[webhook.id, "click"], [webhook.id, "page_published"], [failing.id, "click"], [webhook.id, "click"]]) {
    const delivery = await api("POST", `/webhooks/${id}/test`, { type });
    await until("attempt at the receiver", async () => (await api("GET", `/webhooks/${id}/deliveries/${delivery.id}`)).attempts.length > 0);
  }
  return failing.id;
}

/** A click that both receivers hear of. */
async function openLink(gateway, { slug, links }) {
  const { id } = links.find(({ type, url }) => type === "link" && url);
  const headers = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0" };
  await fetch(`${gateway.origin}/${slug}/l/${id}`, { headers, redirect: "manual" });
}

/** A domain that works, and one that waits for its records. */
async function connectDomains(gateway, api, page) {
  const { id, dns } = await api("POST", "/domains", { host: "links.blumen-lotte.example", page_id: page.id });
  await gateway.setRecord(dns[0]);
  assert.equal((await api("POST", `/domains/${id}/verify`, {})).status, "active");
  const waiting = await api("POST", "/domains", { host: "hochzeit.blumen-lotte.example" });
  await api("POST", `/domains/${waiting.id}/verify`, {});
}

/** Calls of several kinds, and then a tool that is down. */
async function callTools(gateway, key) {
  const qr = (body) => fetch(`${gateway.origin}/v1/qr/generate`, { method: "POST", headers: { "x-api-key": key, "content-type": JSON_TYPE }, body });
  for (let nth = 0; nth < 6; nth += 1) await qr(JSON.stringify({ url: `https://example.com/${nth}` }));
  await gateway.control("idea", "stop");
  for (let nth = 0; nth < 3; nth += 1) await fetch(`${gateway.origin}/v1/idea/generate`, { method: "POST", headers: { "x-api-key": key, "content-type": JSON_TYPE }, body: "{}" });
}

/** A visitor reports the page, and the operator has an incident. */
async function report(gateway, page) {
  const body = new URLSearchParams({ reason: "other", details: "The second picture is mine." });
  const reported = await fetch(`${gateway.origin}/${page.slug}/report`, { method: "POST", body });
  assert.ok(reported.ok, `report: ${reported.status} ${await reported.text()}`);
  const headers = { authorization: `Bearer ${gateway.adminSecret}`, "content-type": JSON_TYPE };
  const incident = { title: "Ideas do not come", impact: "major", tools: ["idea"], state: "identified", message: "Its servers are restarted." };
  const published = await fetch(`${gateway.origin}/v1/status/incidents`, { method: "POST", headers, body: JSON.stringify(incident) });
  assert.ok(published.ok, `incident: ${published.status} ${await published.text()}`);
}
