// Texts that somebody else writes stay texts in Chromium, in every view of the console, and in the other pages.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until } from "./parts/analytics.mjs";
import { createPage } from "./parts/biolink.mjs";
import { startChromium } from "./parts/chromium.mjs";
import { callApi } from "./parts/console.mjs";
import { ADMIN_SECRET, startEdge } from "./parts/edge.mjs";
import { startOutside } from "./parts/outside.mjs";
import { look, payload, TEXTS } from "./parts/payload.mjs";
import { startProxy } from "./parts/proxy.mjs";
import { readViews } from "./parts/views.mjs";
import { openWeb } from "./parts/web_window.mjs";

/** The user agent of a person. */
const PERSON = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";
/** The picture of the page, which its owner has chosen. */
const PICTURE = "https://images.example.com/a.svg";
const JSON_BODY = { "content-type": "application/json" };

let browser;
let edge;
let outside;
let proxy;
let made;

before(async () => {
  [browser, outside] = await Promise.all([startChromium(), startOutside(responses())]);
  proxy = await startProxy(outside.address);
  edge = await startEdge(proxy.origin);
  made = await makeAccount();
});
after(() => Promise.all([browser?.close(), edge?.end(), proxy?.end(), outside?.end()]));

/** What a receiver, two shops and a tool respond. */
function responses() {
  const escaped = (text) => text.replaceAll("<", "&lt;");
  const item = (id, price) => `<item><g:id>${id}</g:id><g:title>${escaped(payload("feed_title"))}</g:title><g:link>https://shop.example.com/mug</g:link><g:price>${price}</g:price></item>`;
  const items = item("1", "15.00 EUR") + item(escaped(payload("feed_fault")), escaped(payload("feed_fault")));
  return {
    "/hook": [500, "text/html", payload("response")],
    "/feed": [200, "application/xml", `<rss xmlns:g="http://base.google.com/ns/1.0" version="2.0"><channel>${items}</channel></rss>`],
    "/broken": [200, "application/xml", `<rss version="2.0"><channel>${payload("feed_error")}`],
    "/openapi.json": [200, "application/json", JSON.stringify(description())],
    "*": [200, "text/html", payload("tool_response")],
  };
}

/** What a tool says of itself. */
function description() {
  const schema = { type: "object", properties: { [payload("tool_schema")]: { type: "string", description: payload("tool_schema"), enum: [payload("tool_schema")] } } };
  const content = { "application/json": { schema, example: { a: payload("tool_example") } } };
  const parameters = [{ name: "a", in: "query", description: payload("tool_parameter"), schema: { type: "string", enum: [payload("tool_parameter")] }, example: payload("tool_example") }];
  const operation = { summary: payload("tool_action"), description: payload("tool_action"), responses: { 200: { description: payload("tool_action"), content } } };
  return {
    openapi: "3.0.3", info: { title: payload("tool_title"), version: "1.0.0", description: payload("tool_title") },
    paths: { "/generate": { get: { ...operation, parameters }, post: { ...operation, requestBody: { content } } } },
  };
}

const call = (...request) => callApi(edge, ...request);

async function administer(method, path, body) {
  const response = await fetch(edge.origin + path, { method, headers: { ...JSON_BODY, authorization: `Bearer ${ADMIN_SECRET}` }, body: JSON.stringify(body) });
  assert.ok(response.ok, `${method} ${path}: ${await response.text()}`);
}

/** An account in which every text that somebody can write is one of `TEXTS`. */
async function makeAccount() {
  const image = { url: PICTURE, alt: payload("page_head") };
  const page = await createPage(edge, {
    slug: "mallory", status: "published", title: payload("page_head", 80), bio: payload("page_bio"), avatar: image,
    links: [{ title: payload("page_link"), url: "https://example.com/", description: payload("page_link") }],
    metadata: { note: payload("page_note") }, external_id: payload("page_note"), codes: [{ via: "flyer", title: payload("page_code", 80) }],
    products: { title: payload("page_shop", 80), items: [{ title: payload("page_shop"), url: "https://shop.example.com/poster" }] },
    seo: { title: payload("page_seo", 70), description: payload("page_bio") },
  }, { name: payload("key_name") });
  const { key } = page;
  await visit(page);
  const webhook = await call(key, "POST", "/webhooks", { url: `${outside.origin}/hook`, events: ["click"], description: payload("webhook") });
  const delivery = await call(key, "POST", `/webhooks/${webhook.id}/test`, { type: "click" });
  const source = (feed) => call(key, "POST", `/pages/${page.id}/product-sources`, { url: outside.origin + feed });
  const sources = [await source("/feed"), await source("/broken")];
  await call(key, "POST", "/v1/keys/me/secrets", { name: payload("secret"), scopes: { tools: ["qr"], biolink: "none", keys: false } });
  await fetch(`${edge.origin}/v1/qr/generate`, { headers: { "x-api-key": key } });
  await administer("POST", "/v1/status/incidents", {
    title: payload("incident_title"), impact: "minor", tools: ["qr"], state: "identified", message: payload("incident_message"),
  });
  await until("attempt at the receiver", async () => (await call(key, "GET", `/webhooks/${webhook.id}/deliveries/${delivery.id}`)).attempts.length > 0);
  for (const { id } of sources) {
    await until("run of the source", async () => (await call(key, "GET", `/pages/${page.id}/product-sources/${id}/runs`)).data.length > 0);
  }
  const { id } = await call(key, "GET", "/v1/keys/me");
  const ids = {
    "/pages/*": page.id, "/links/*": page.id, "/developers/webhooks/*": webhook.id, "/admin/keys/*": id, "/admin/pages/*": page.id, "/admin/accounts/*": id,
  };
  return { key, page, ids };
}

/** Visits a page, and reports it. */
async function visit(page) {
  const query = new URLSearchParams(["source", "medium", "campaign", "term", "content"].map((name) => [`utm_${name}`, payload(`utm_${name}`)]));
  const headers = { "user-agent": PERSON, referer: `https://${payload("referer")}/`, "accept-language": payload("language") };
  // A program whose name is one of these texts does not count as a person.
  const program = { "user-agent": `${PERSON} ${payload("user_agent")}` };
  await fetch(`${edge.origin}/mallory?${query}`, { headers });
  await fetch(`${edge.origin}/mallory?via=${encodeURIComponent(payload("via"))}`, { headers: program });
  await fetch(`${edge.origin}/mallory/${encodeURIComponent(payload("path"))}`, { headers });
  const report = await fetch(`${page.urls.public}/report`, { method: "POST", body: new URLSearchParams({ reason: "spam", details: payload("report") }) });
  assert.equal(report.status, 200);
  await until("visit", async () => (await (await read("/analytics?interval=24h&group_by=utm_campaign", page.key)).text()).includes("<x-utm_campaign>"));
}

const read = (path, key) => fetch(edge.origin + path, { headers: { "x-api-key": key } });

/** Finds what has left a page of ours: other hosts, documents that are not `ours`, dialogs, and what the browser complained of. */
function watch({ page }, isOurs = (url) => /^\/console(\/|$)/.test(new URL(url).pathname)) {
  const findings = [];
  page.on("request", (request) => { if (!request.url().replace(/^blob:/, "").startsWith(edge.origin) && request.url() !== PICTURE) findings.push(`request: ${request.url()}`); });
  // The frame of the preview has no address.
  const isAllowed = (frame) => (frame === page.mainFrame() ? isOurs(frame.url()) : ["about:blank", "about:srcdoc"].includes(frame.url()));
  page.on("framenavigated", (frame) => { if (!isAllowed(frame)) findings.push(`navigation: ${frame.url()}`); });
  page.on("dialog", (dialog) => { findings.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("pageerror", (error) => findings.push(`error: ${error.message}`));
  // A read that is refused is told there too.
  page.on("console", (message) => { if (!message.text().startsWith("Failed to load resource")) findings.push(message.text()); });
  return findings;
}

/** Goes to a view as its links do, and waits until it has what it reads. */
async function open(page, address) {
  await page.evaluate((address) => {
    const link = Object.assign(document.createElement("a"), { href: `/console${address}` });
    document.body.append(link);
    link.click();
    link.remove();
  }, address);
  await page.locator("main h1, main h2").first().waitFor();
  await page.waitForFunction(() => !document.querySelector("[aria-busy=true]"));
}

/** The names of buttons that show more of a view, of what others have written among it. */
const UNFOLDS = /^(campaigns|media|sites|sources|content|links|look|more|shop|versions?|runs|last runs|details|notes)\b|^(show|what )/i;

/** Opens what a view has folded, and adds what it shows to `seen`. Returns elements that came of texts. */
async function unfold(page, seen) {
  const elements = new Set();
  const collect = async () => {
    await page.waitForFunction(() => !document.querySelector("[aria-busy=true]"));
    const found = await page.evaluate(look);
    found.texts.forEach((text) => seen.add(text));
    found.elements.forEach((element) => elements.add(element));
  };
  await collect();
  // With a query it is the same view.
  if (page.url().includes("?")) return [...elements];
  for (const button of await page.locator("main button:visible").all()) {
    // What was unfolded may have fewer buttons, and each of the others would be waited for.
    if (!(await button.count())) break;
    const name = await button.innerText({ timeout: 1_000 }).catch(() => "");
    const isRow = await button.evaluate((node) => Boolean(node.closest("li, tr"))).catch(() => false);
    if (!UNFOLDS.test(name.trim()) && !(isRow && /<x-|\d{3}|failed|run/i.test(name))) continue;
    await button.click({ timeout: 2_000 }).catch(() => {});
    await collect();
    await page.evaluate(() => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
    await collect();
    if (await page.locator("[role=dialog]").count()) await page.keyboard.press("Escape");
  }
  return [...elements];
}

test("text of another stays text in the pages for everyone", async () => {
  const seen = await visitAll(pages());
  const expected = Object.entries(TEXTS).filter(([, { at, isPublic }]) => at === "pages" || isPublic).map(([name]) => name);
  assert.deepEqual(expected.filter((name) => !seen.has(name)), [], "texts that no page has shown");
});

/** Opens a window in which nobody is signed in. */
async function openPage() {
  const context = await browser.newContext();
  return { page: await context.newPage(), close: () => context.close() };
}

/** Opens pages and finds nothing wrong. Returns the texts that they show. */
async function visitAll(paths) {
  const window = await openPage();
  const noticed = watch(window, () => true);
  const [seen, findings] = [new Set(), []];
  for (const path of paths) {
    // What the browser saves is not shown.
    await window.page.goto(edge.origin + path).catch((error) => assert.match(error.message, /Download is starting/, path));
    const { texts, elements } = await window.page.evaluate(look);
    texts.forEach((text) => seen.add(text));
    findings.push(...[...elements, ...noticed.splice(0)].map((finding) => `${path}: ${finding}`));
  }
  await window.close();
  assert.deepEqual(findings, []);
  return seen;
}

test("response of a tool stays text in the form of the reference", async () => {
  const window = await openPage();
  const { page } = window;
  const noticed = watch(window, () => true);
  await page.goto(`${edge.origin}/docs/calls`);
  const section = page.locator("section#qr_get");
  await section.getByText("Try it").click();
  await section.getByLabel(/^Your API key/).fill(made.key);
  await section.getByRole("button", { name: "Send GET" }).click();
  await section.getByRole("status").getByText("<x-tool_response>").waitFor();
  const { elements } = await page.evaluate(look);
  assert.deepEqual([...elements, ...noticed], []);
  await window.close();
});

/** Addresses that anyone can open or lead to, of pages and of the parts that pages have, of reads, and of nothing. Each with a query of somebody, too. */
function pages() {
  const { page } = made;
  const text = encodeURIComponent(payload("path"));
  const paths = [
    "/", "/docs", "/docs/tools", "/docs/changelog.atom", "/status", "/status.atom", "/console", "/llms.txt", "/tools", "/tools/qr", "/tools/openapi.json",
    "/v1/status", "/v1/status/history", "/v1/status/incidents", "/v1/qr/generate", "/pages", "/analytics", "/console/analytics", "/console/session", "/console/sessions",
    "/mallory", "/mallory/report", "/mallory/qr.svg", "/mallory/card.vcf", "/s/mallory/flyer", `/mallory/l/${page.links[0].id}/nothing`,
  ];
  const reflected = ["/", "/docs/", "/problems/", "/tools/", "/status/", "/i/", "/s/mallory/", "/q/mallory/", "/mallory/", "/mallory/l/", "/v1/", "/v1/qr/", "/console/"].map((path) => path + text);
  return [...paths, ...reflected].flatMap((path) => [path, `${path}?${text}`]);
}

/** Opens a view and says what is wrong with it. Adds the texts that it shows to `seen`. */
async function inspect({ page }, noticed, address, seen) {
  try {
    await open(page, address);
    // The preview of a page follows its form.
    if (await page.locator("main iframe").count()) await page.frameLocator("main iframe").first().locator("h1").waitFor();
    const elements = await unfold(page, seen);
    return [...elements, ...noticed.splice(0)].map((finding) => `${address}: ${finding}`);
  } catch (error) {
    // It may have led away.
    return [`${address}: ${error.message}`, ...noticed];
  }
}

test("text of another stays text in every view", async () => {
  const { key, page, ids } = made;
  await administer("POST", `/admin/pages/${page.id}/suspend`, { reason: payload("suspension") });
  const views = readViews(ids, payload("query"));
  const [seen, findings] = [new Set(), []];
  for (const [secret, addresses] of [[key, views.key], [ADMIN_SECRET, views.admin]]) {
    const window = await openWeb(browser, edge, secret);
    const noticed = watch(window);
    for (const address of addresses) findings.push(...await inspect(window, noticed, address, seen));
    await window.close();
  }
  assert.deepEqual(findings, []);
  const expected = Object.entries(TEXTS).filter(([, { at }]) => at === "views").map(([name]) => name);
  assert.deepEqual(expected.filter((name) => !seen.has(name)), [], "texts that no view has shown: the test would miss them");
  assert.deepEqual([...seen].filter((name) => TEXTS[name].at === "nothing"), [], "texts that are kept after all");
  await visitAll(["/mallory", "/mallory/report", "/mallory/qr.svg"]);
  for (const [name, { at }] of Object.entries(TEXTS).filter(([, { at }]) => at.startsWith("/"))) {
    assert.ok((await (await read(at, key)).text()).includes(`<x-${name}>`), `${at} lacks ${name}`);
  }
});

test("page takes no text for HTML but by its policy", async () => {
  const makes = (page, make) => page.evaluate(make).then(() => "made", (error) => error.message.match(/Trusted\w+|policy/i)?.[0] ?? error.message);
  for (const path of ["/console", "/console/pages", "/docs"]) {
    const page = await browser.newPage();
    await page.goto(edge.origin + path);
    assert.match(await makes(page, () => { document.body.innerHTML = "<b>a</b>"; }), /^Trusted/, path);
    assert.match(await makes(page, () => { new DOMParser().parseFromString("<b>a</b>", "text/html"); }), /^Trusted/, path);
    assert.match(await makes(page, () => { globalThis.trustedTypes.createPolicy("other", { createHTML: String }); }), /^policy/i, path);
    await page.close();
  }
});

test("key is in no body that the console sends", async () => {
  const window = await openWeb(browser, edge, made.key);
  await window.page.evaluate(() => {
    const { fetch } = globalThis;
    globalThis.bodies = [];
    globalThis.fetch = async (request, options) => {
      globalThis.bodies.push(request instanceof Request ? await request.clone().text() : String(options?.body ?? ""));
      return fetch(request, options);
    };
  });
  await open(window.page, "/settings");
  await open(window.page, `/pages/${made.page.id}`);
  await window.page.frameLocator("main iframe").first().locator("h1").waitFor();
  const bodies = await window.page.evaluate(() => globalThis.bodies);
  assert.ok(bodies.some((body) => body.includes("<x-page_bio>")), "the preview sends the page");
  assert.deepEqual(bodies.filter((body) => body.includes(made.key)), []);
  await window.close();
});
