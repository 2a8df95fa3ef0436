// Texts that somebody else writes stay texts in Chromium, in every view of the console with every query, and in the other pages.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until } from "./parts/analytics.mjs";
import { createPage } from "./parts/biolink.mjs";
import { startChromium } from "./parts/chromium.mjs";
import { callApi, openConsole, signIn } from "./parts/console.mjs";
import { ADMIN_SECRET, startEdge } from "./parts/edge.mjs";
import { startOutside } from "./parts/outside.mjs";
import { look, payload, STRANGERS, TEXTS } from "./parts/payload.mjs";
import { startProxy } from "./parts/proxy.mjs";
import { readViews } from "./parts/views.mjs";

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
  return { key, page, ids: { id: [id], page_id: [page.id], webhook_id: [webhook.id], delivery_id: [delivery.id], source_id: sources.map((made) => made.id) } };
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
function watch({ page }, isOurs = (url) => new URL(url).pathname === "/console") {
  const findings = [];
  page.on("request", (request) => { if (!request.url().startsWith(edge.origin) && request.url() !== PICTURE) findings.push(`request: ${request.url()}`); });
  // The frame of the preview has no address.
  const isAllowed = (frame) => (frame === page.mainFrame() ? isOurs(frame.url()) : frame.url() === "about:blank");
  page.on("framenavigated", (frame) => { if (!isAllowed(frame)) findings.push(`navigation: ${frame.url()}`); });
  page.on("dialog", (dialog) => { findings.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("pageerror", (error) => findings.push(`error: ${error.message}`));
  // A read that is refused is told there too.
  page.on("console", (message) => { if (!message.text().startsWith("Failed to load resource")) findings.push(message.text()); });
  return findings;
}

/** Opens a view, and waits until it is shown or refused. */
function open(page, path) {
  return page.evaluate((path) => new Promise((resolve) => {
    const view = document.getElementById("view");
    new MutationObserver((_, observer) => {
      if (view.ariaBusy !== "false") return;
      observer.disconnect();
      resolve();
    }).observe(view, { attributeFilter: ["aria-busy"] });
    location.hash = path;
  }), path);
}

test("text of another stays text in the pages for everyone", async () => {
  const seen = await visitAll(pages());
  const expected = Object.entries(TEXTS).filter(([, { at, isPublic }]) => at === "pages" || isPublic).map(([name]) => name);
  assert.deepEqual(expected.filter((name) => !seen.has(name)), [], "texts that no page has shown");
});

/** Opens pages and finds nothing wrong. Returns the texts that they show. */
async function visitAll(paths) {
  const window = await openConsole(browser, edge);
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
  const window = await openConsole(browser, edge);
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
async function inspect({ page }, noticed, path, seen) {
  try {
    await open(page, path);
    // The preview of a page follows its form.
    if (await page.locator("iframe").count()) await page.frameLocator("iframe").locator("h1").waitFor();
    const { texts, elements } = await page.evaluate(look);
    texts.forEach((text) => seen.add(text));
    return [...elements, ...noticed.splice(0)].map((finding) => `${path}: ${finding}`);
  } catch (error) {
    // It may have led away.
    return [`${path}: ${error.message}`, ...noticed];
  }
}

test("text of another stays text in every view with every query", async () => {
  const { key, page, ids } = made;
  await administer("POST", `/admin/pages/${page.id}/suspend`, { reason: payload("suspension") });
  const views = await readViews(edge, { key, admin: ADMIN_SECRET, ids, text: payload("query") });
  const [seen, asked] = [new Set(), new Set()];
  for (const [secret, isOfAdmin] of [[key, false], [ADMIN_SECRET, true]]) {
    const window = await openConsole(browser, edge);
    await signIn(window.page, secret);
    const noticed = watch(window);
    const own = views.filter(({ isFor }) => isFor.includes(isOfAdmin)).flatMap(({ path, queries }) => queries.map((query) => path + query));
    for (const path of own) {
      assert.deepEqual(await inspect(window, noticed, path, seen), []);
      assert.ok(path.includes("?") || (await window.page.locator("#problem").isHidden()), `${path} is not shown`);
    }
    window.requests.forEach((url) => asked.add(url));
    await window.close();
  }
  const addresses = views.flatMap(({ path, queries }) => queries.map((query) => `${edge.origin}/console${path}${query}`));
  assert.deepEqual(addresses.filter((address) => !asked.has(address)), [], "views that the script did not ask for");
  const expected = Object.entries(TEXTS).filter(([, { at }]) => at === "views").map(([name]) => name);
  assert.deepEqual(expected.filter((name) => !seen.has(name)), [], "texts that no view has shown: the test would miss them");
  assert.deepEqual([...seen].filter((name) => TEXTS[name].at === "nothing"), [], "texts that are kept after all");
  await visitAll(["/mallory", "/mallory/report", "/mallory/qr.svg"]);
  for (const [name, { at }] of Object.entries(TEXTS).filter(([, { at }]) => at.startsWith("/"))) {
    assert.ok((await (await read(at, key)).text()).includes(`<x-${name}>`), `${at} lacks ${name}`);
  }
  console.log(`${views.length} views, ${addresses.length} addresses`);
});

test("script shows nothing that no view is made of", async () => {
  const window = await openConsole(browser, edge);
  const { page } = window;
  await signIn(page, made.key);
  const noticed = watch(window);
  for (const [name, [type, body]] of Object.entries(STRANGERS)) {
    await page.route(/\/console\/pages/, (route) => route.fulfill({ headers: type ? { "content-type": type } : {}, body }), { times: 1 });
    await open(page, `/pages?q=${name}`);
    await page.getByRole("alert").getByText("The response is no view of the console").waitFor();
    assert.equal(await page.locator("#view").innerHTML(), "", name);
    const { elements } = await page.evaluate(look);
    // The browser may say what its policy has blocked before the script looked.
    assert.deepEqual([...elements, ...noticed.splice(0).filter((text) => !text.includes("Content Security Policy"))], [], name);
  }
  await open(page, "/pages");
  await page.locator("#view").getByRole("heading", { name: "Pages", exact: true }).waitFor();
  await window.close();
});

test("page takes no text for HTML but by the policy of the console", async () => {
  const makes = (page, make) => page.evaluate(make).then(() => "made", (error) => error.message.match(/Trusted\w+|policy/i)?.[0] ?? error.message);
  for (const path of ["/console", "/docs"]) {
    const page = await browser.newPage();
    await page.goto(edge.origin + path);
    assert.match(await makes(page, () => { document.body.innerHTML = "<b>a</b>"; }), /^Trusted/, path);
    assert.match(await makes(page, () => { new DOMParser().parseFromString("<b>a</b>", "text/html"); }), /^Trusted/, path);
    assert.match(await makes(page, () => { globalThis.trustedTypes.createPolicy("other", { createHTML: String }); }), /^policy/i, path);
    assert.match(await makes(page, () => { globalThis.trustedTypes.createPolicy("console", { createHTML: String }); }), /^policy/i, `${path}: the one policy is the script's`);
    await page.close();
  }
});

test("key is in no body that the console sends", async () => {
  const window = await openConsole(browser, edge);
  const { page } = window;
  await signIn(page, ADMIN_SECRET);
  await page.getByLabel("E-mail of the holder").fill("grace@example.com");
  await page.getByLabel("Name", { exact: true }).fill("Grace");
  const sent = page.waitForRequest((request) => request.url().endsWith("/v1/keys/issue"));
  await page.getByRole("button", { name: "Issue" }).click();
  const request = await sent;
  assert.equal((await request.response()).status(), 201);
  assert.equal(request.headers().authorization, `Bearer ${ADMIN_SECRET}`);
  assert.ok(!request.postData().includes(ADMIN_SECRET), request.postData());
  await window.close();
});
