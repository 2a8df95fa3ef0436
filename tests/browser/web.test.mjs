// The web app of the console as people use it, with the real worker behind it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { until } from "./parts/analytics.mjs";
import { startChromium } from "./parts/chromium.mjs";
import { assertQuiet, callApi } from "./parts/console.mjs";
import { ADMIN_SECRET, startEdge } from "./parts/edge.mjs";
import { startWeb } from "./parts/web.mjs";
import { fillAccount } from "./parts/web_account.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PIXEL = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

let edge;
let web;
let browser;
let account;

before(async () => {
  [edge, browser] = await Promise.all([startEdge(), startChromium()]);
  web = await startWeb(edge);
  account = await fillAccount(web);
});
after(async () => {
  await Promise.all([browser?.close(), web?.end()]);
  await edge?.end();
});

/** Opens the app in a window of its own and signs in, so that the browser stays signed in. */
async function open(secret, address = "/", options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  const [complaints, requests] = [[], []];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => requests.push(request.url().replace(/^blob:/, "")));
  await page.goto(`${web.origin}/console${address}`);
  await page.getByLabel("API key").fill(secret);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator("main h1").waitFor();
  return { context, page, complaints, requests, origin: web.origin, close: () => context.close() };
}

test("shop owner gets from nothing to a page and a QR code", async () => {
  const key = await web.issueKey({ biolink_plan: "business", name: "Lotte Brandt" });
  const window = await open(key);
  const { page } = window;
  let actions = 0;
  const act = (done) => { actions += 1; return done; };
  const click = (name, exact = true) => act(page.getByRole("button", { name, exact }).first().click());

  await act(page.getByRole("link", { name: "Start" }).click());
  await act(page.getByLabel("What is it called?").fill("Blumen Lotte"));
  await click("Make page");
  await act(page.getByLabel("Bio").fill("Flowers from our own field."));
  await act(page.getByLabel("Picture: upload").setInputFiles({ name: "field.png", mimeType: "image/png", buffer: PIXEL }));
  await page.getByText("The picture is stored.").waitFor();
  for (const [title, url] of [["Shop", "shop.example.com"], ["Hours", "https://example.com/hours"], ["Map", "https://example.com/map"]]) {
    if (title !== "Shop") await click("Add");
    await act(page.getByRole("group", { name: "What to add" }).getByRole("button", { name: /^Link/ }).click());
    await act(page.getByLabel(/^Title of Link/).last().fill(title));
    await act(page.getByLabel(`Address of ${title}`).fill(url));
  }
  await click("Look");
  await act(page.getByRole("group", { name: "Looks" }).getByRole("button", { name: "Forest" }).click());
  await page.getByText("All changes saved").waitFor();
  await click("Publish");
  await click("Publish now");
  await page.getByRole("heading", { name: "Your page is live" }).waitFor();
  await act(page.getByRole("link", { name: "Download the QR code" }).click());
  const downloaded = page.waitForEvent("download");
  await act(page.getByRole("button", { name: /as PNG$/ }).click());
  const file = readFileSync(await (await downloaded).path());

  assert.ok(actions <= 40, `${actions} actions`);
  assert.equal(file.subarray(1, 4).toString(), "PNG");
  const [stored] = (await callApi(web, key, "GET", "/pages")).data;
  const whole = await callApi(web, key, "GET", `/pages/${stored.id}`);
  assert.deepEqual([stored.status, whole.theme.preset, whole.links.map(({ url }) => url)], ["published", "forest", ["https://shop.example.com/", "https://example.com/hours", "https://example.com/map"]]);
  assert.match(await (await fetch(stored.urls.public)).text(), /Blumen Lotte.*Flowers from our own field\..*Map/s);
  await assertQuiet(window);
});

test("what is typed is saved, undone and kept from others", async () => {
  const { key, draft } = account;
  const window = await open(key, `/pages/${draft.id}`);
  const { page } = window;
  const read = () => callApi(web, key, "GET", `/pages/${draft.id}`);
  const title = page.getByLabel("Title", { exact: true });
  await title.fill("Weddings");
  await page.getByText("All changes saved").waitFor();
  assert.equal((await read()).title, "Weddings");
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Saving…").waitFor();
  await page.getByText("All changes saved").waitFor();
  assert.equal((await read()).title, "Wedding flowers");

  await callApi(web, key, "PATCH", `/pages/${draft.id}`, { bio: "by a program" });
  await title.fill("Mine");
  await page.getByRole("button", { name: "Keep mine" }).waitFor();
  assert.deepEqual([(await read()).title, await title.inputValue()], ["Wedding flowers", "Mine"]);
  await page.getByRole("button", { name: "Take theirs" }).click();
  await page.waitForFunction(() => [...document.querySelectorAll("textarea")].some(({ value }) => value === "by a program"));

  const handle = page.getByRole("button", { name: /^Move Ask for a date/ });
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("button", { name: /^Heading/ }).click();
  await page.getByLabel(/^Title of Heading/).fill("Ask us");
  await handle.focus();
  await page.keyboard.press("ArrowDown");
  await page.getByText("Place 2 of 2.").waitFor();
  await page.getByText("All changes saved").waitFor();
  assert.deepEqual((await read()).links.map((link) => link.title), ["Ask us", "Ask for a date"]);

  await page.getByLabel("Address of Ask for a date").fill("javascript:alert(1)");
  await page.getByText("Enter a whole address, such as https://example.com.").waitFor();
  await page.getByLabel("Address of Ask for a date").fill("https://example.com/dates");
  await page.getByText("All changes saved").waitFor();
  await assertQuiet(window, true);
});

test("texts of others are texts in every view", async () => {
  const text = "<x-web><img src=x onerror=alert(1)>";
  const key = await web.issueKey({ biolink_plan: "business", name: text });
  const api = (...request) => callApi(web, key, ...request);
  const made = await api("POST", "/pages", { title: text, bio: text, slug: "hostile-web", status: "published", links: [{ title: text, url: "https://example.com/" }], codes: [{ via: "flyer", title: text }], tags: [text] });
  await api("POST", "/webhooks", { url: "https://hooks.example.com/x", description: text, events: ["click"] });
  await api("POST", "/v1/keys/me/secrets", { name: text, scopes: { biolink: "read" } });
  const agent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";
  await fetch(`${made.urls.public}?utm_campaign=${encodeURIComponent(text)}`, { headers: { "user-agent": agent, "sec-fetch-dest": "document" } });
  const campaigns = async () => (await api("GET", "/analytics?interval=24h&group_by=utm_campaign")).groups.utm_campaign;
  await until("the visit is counted", async () => (await campaigns()).some((row) => row.utm_campaign?.includes("<x-web>")));
  const window = await open(key);
  const { page } = window;
  const seen = {};
  for (const view of ["/", "/pages", `/pages/${made.id}`, `/links/${made.id}`, "/analytics?interval=24h", "/developers/keys", "/developers/webhooks", "/settings"]) {
    await page.goto(`${web.origin}/console${view}`);
    await page.locator("main h1").waitFor();
    await page.waitForFunction(() => document.querySelector("main").innerText.includes("<x-web>") || [...document.querySelectorAll("input, textarea")].some(({ value }) => value.includes("<x-web>")), undefined, { timeout: 8_000 });
    seen[view] = await page.evaluate(() => [...document.querySelectorAll("x-web, img[src='x'], [onerror]")].length + [...document.querySelectorAll("iframe")].reduce((sum, frame) => sum + (frame.contentDocument?.querySelectorAll("x-web, img[onerror]").length ?? 0), 0));
  }
  assert.deepEqual(Object.values(seen), Object.values(seen).map(() => 0), JSON.stringify(seen));
  await assertQuiet(window);
});

const OF_KEY = ["/", "/pages", "/pages/{page}", "/links/{page}", "/analytics?interval=7d", "/products", "/domains", "/developers/keys", "/developers/usage", "/developers/calls", "/developers/webhooks", "/developers/webhooks/{webhook}", "/settings", "/nowhere"];
const OF_ADMIN = ["/admin/keys", "/admin/keys/{key}", "/admin/reports", "/admin/incidents"];

for (const [colorScheme, width] of [["light", 1280], ["dark", 360]]) {
  test(`views in ${colorScheme} at ${width} px have no finding of axe and fit`, async () => {
    const found = [];
    for (const [secret, views] of [[account.key, OF_KEY], [ADMIN_SECRET, OF_ADMIN]]) {
      const window = await open(secret, "/", { colorScheme, viewport: { width, height: 800 } });
      for (const view of views) found.push(...await check(window.page, view.replace("{page}", account.page.id).replace("{webhook}", account.webhook.id).replace("{key}", account.id)));
      await assertQuiet(window, true);
    }
    assert.deepEqual(found, []);
  });
}

/** Goes to a view as its links do. Returns what is wrong with it. */
async function check(page, view) {
  await page.evaluate((address) => {
    const link = Object.assign(document.createElement("a"), { href: `/console${address}` });
    document.body.append(link);
    link.click();
    link.remove();
  }, view);
  await page.waitForURL((url) => url.pathname + url.search === `/console${view}`);
  await page.locator("main h1, main h2").first().waitFor();
  await page.waitForFunction(() => !document.querySelector("[aria-busy=true]"));
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const found = violations.map(({ id, nodes }) => `${view} ${id}: ${nodes[0].html.slice(0, 160)} ${nodes[0].any[0]?.message ?? ""}`);
  return overflow > 0 ? [...found, `${view} is ${overflow} px too wide`] : found;
}
