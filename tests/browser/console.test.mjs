// The console in Chromium, as holders of keys and administrators use it. Leaves the screenshots under target/screenshots/.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { after, before, test } from "node:test";
import { settledReport, until } from "./parts/analytics.mjs";
import { createPage } from "./parts/biolink.mjs";
import { startChromium } from "./parts/chromium.mjs";
import { assertQuiet, callApi, follow, goTo, openConsole, press, reach, signIn, takeKey } from "./parts/console.mjs";
import { ADMIN_SECRET, startEdge } from "./parts/edge.mjs";
import { startGateway } from "./parts/gateway.mjs";

const ROOT = path.resolve(import.meta.dirname, "../..");
const SCREENSHOTS = path.join(process.env.CARGO_TARGET_DIR || path.join(ROOT, "target"), "screenshots");
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** The user agent of a person. */
const PERSON = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";
const REPORT = "/analytics?interval=7d&group_by=timeseries,page,link,product,source,device,browser,country";

let edge;
let browser;
/** A page with visits and a click, a webhook of it with a delivery that failed, a product source, and the id of their key. */
let made;

before(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  [edge, browser] = await Promise.all([startEdge(), startChromium()]);
  made = await makeAccount();
});
after(() => Promise.all([browser?.close(), edge?.end()]));

const call = (...request) => callApi(edge, ...request);

async function makeAccount() {
  const page = await createPage(edge, {
    slug: "ada", title: "Ada <b>Lovelace</b>", links: [{ title: "News", url: "https://example.com/news" }], status: "published",
  });
  const visit = (address) => fetch(address, { redirect: "manual", headers: { "user-agent": PERSON, referer: "https://news.ycombinator.com/" } });
  for (const address of [page.urls.public, page.urls.public, `${page.urls.public}/l/${page.links[0].id}`]) await visit(address);
  await settledReport(edge, page, { views: 2, clicks: 1 });
  const webhook = await call(page.key, "POST", "/webhooks", { url: "https://hooks.example.com/crm", events: ["click"] });
  const delivery = await call(page.key, "POST", `/webhooks/${webhook.id}/test`, { type: "click" });
  const source = await call(page.key, "POST", `/pages/${page.id}/product-sources`, { url: "https://shop.example.com/merchant.xml" });
  const { id } = await call(page.key, "GET", "/v1/keys/me");
  return { page, webhook, delivery, source, id };
}

test("holder sees the calls of the key as they are made", async () => {
  const key = await edge.issueKey();
  const window = await openConsole(browser, edge);
  await signIn(window.page, key);
  const used = window.page.locator("#usage .number").first();
  assert.equal(await used.innerText(), "0 of 10");
  for (let calls = 0; calls < 3; calls += 1) await fetch(`${edge.origin}/v1/qr/generate`, { headers: { "x-api-key": key } });
  await window.page.locator("#usage .number").first().getByText("3 of 10").waitFor();
  const tools = window.page.getByRole("region", { name: "Calls by tool today" });
  assert.deepEqual(await tools.locator("tbody tr").allInnerTexts(), ["qr\t3"]);
  await assertQuiet(window);
});

test("tools show their availability as it changes", async () => {
  const gateway = await startGateway();
  try {
    const { page, complaints, close } = await openConsole(browser, gateway);
    await signIn(page, gateway.key);
    await follow(page, "Tools");
    const rows = page.getByRole("region", { name: "Tools" }).locator("tbody tr");
    const row = (tool, state) => rows.filter({ hasText: new RegExp(`^${tool}\\s*${state}$`) });
    await row("idea", "available").waitFor();
    assert.equal(await rows.count(), 17);
    await gateway.control("idea", "stop");
    await row("idea", "unavailable").waitFor();
    await row("qr", "available").waitFor();
    await assertAccessible(page, 1280, "console-tools-light-1280");
    await page.setViewportSize({ width: 360, height: 760 });
    await assertAccessible(page, 360, "console-tools-light-360");
    await gateway.control("idea", "start");
    await row("idea", "available").waitFor();
    await close();
    assert.deepEqual(complaints, []);
  } finally {
    await gateway.end();
  }
});

test("refused calls show by code and route", async () => {
  const key = await edge.issueKey({ limits: { minute: 1 } });
  const request = () => fetch(`${edge.origin}/v1/qr/generate`, { headers: { "x-api-key": key } });
  assert.deepEqual([(await request()).status, (await request()).status], [503, 429]);
  const window = await openConsole(browser, edge);
  await signIn(window.page, key);
  const refused = window.page.getByRole("region", { name: "Last refusals" }).locator("tbody tr").filter({ hasText: "quota-exceeded" });
  await refused.waitFor();
  assert.match(await refused.innerText(), /^quota-exceeded\t\/v1\/qr\/\{action\}\t1\t/);
  await assertQuiet(window);
});

test("alert says what happened and what to do, and none says when there will be one", async () => {
  const key = await edge.issueKey({ limits: { day: 2 } });
  const window = await openConsole(browser, edge);
  const { page } = window;
  await signIn(page, key);
  await follow(page, "Alerts");
  await page.getByText("There will be one when 50, 80 or 100 %").waitFor();
  await fetch(`${edge.origin}/v1/qr/generate`, { headers: { "x-api-key": key } });
  await follow(page, "Usage");
  await follow(page, "Alerts");
  const row = page.getByRole("region", { name: "Alerts" }).locator("tbody tr");
  await row.getByText("50 % of the day's calls were used: 1 of 2.").waitFor();
  assert.equal(await row.count(), 1);
  await assertAccessible(page, 1280, "console-raised-alerts-light-1280");
  await page.setViewportSize({ width: 360, height: 760 });
  await assertAccessible(page, 360, "console-raised-alerts-light-360");
  await row.getByRole("link", { name: "which tool" }).click();
  await page.getByRole("heading", { name: "Past usage", level: 2 }).waitFor();
  await assertQuiet(window);
});

test("key is kept in the memory of the page and nowhere else", async () => {
  const window = await openConsole(browser, edge);
  await signIn(window.page, made.page.key);
  await follow(window.page, "Pages");
  const kept = await window.page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, document.documentElement.outerHTML]));
  assert.ok(!kept.includes(made.page.key));
  assert.equal(await window.page.locator("#secret").inputValue(), "");
  assert.deepEqual(await window.context.cookies(), []);
  assert.deepEqual(window.requests.filter((url) => url.includes(made.page.key)), []);
  await window.page.reload();
  await window.page.getByRole("button", { name: "Sign in" }).waitFor();
  assert.equal(await window.page.locator("#view").innerText(), "");
  await assertQuiet(window);
});

/** Types the key for a change that a cookie is not enough for. */
async function typeKey(page, key) {
  await page.locator("#again").getByLabel("API key").fill(key);
  await page.locator("#again").getByRole("button", { name: "Continue" }).click();
}

/** Opens the console and stays signed in there. */
async function staySignedIn(key) {
  const window = await openConsole(browser, edge);
  await window.page.getByLabel("Keep me signed in").check();
  await signIn(window.page, key);
  return window;
}

test("browser that stays signed in types the key for a change of the key", async () => {
  const key = await edge.issueKey();
  const window = await staySignedIn(key);
  const { page } = window;
  const [cookie] = await window.context.cookies();
  assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.value.includes(key)], [true, "Strict", false]);
  assert.equal(await page.evaluate(() => document.cookie), "");
  await page.reload();
  await page.locator("#view h2").waitFor();
  await follow(page, "Secrets");
  await follow(page, "Usage");
  await press(page, "Rotate");
  await page.locator("#again").getByRole("button", { name: "Cancel" }).click();
  await page.getByText("sign-in-required").waitFor();
  await press(page, "Rotate");
  await typeKey(page, await edge.issueKey());
  await page.getByText("This is another key").waitFor();
  await press(page, "Rotate");
  await typeKey(page, `${key}x`);
  await page.getByText("key-malformed").waitFor();
  assert.equal((await fetch(`${edge.origin}/v1/keys/me`, { headers: { "x-api-key": key } })).status, 200, "nothing was changed");
  await press(page, "Rotate");
  await typeKey(page, key);
  const rotated = await takeKey(page);
  assert.notEqual(rotated, key);
  assert.ok(!(await page.content()).includes(rotated));
  assert.equal(await page.locator("#again-secret").inputValue(), "");
  await page.reload();
  await page.locator("#view h2").waitFor();
  const ended = page.waitForResponse((response) => response.request().method() === "DELETE");
  await page.getByRole("button", { name: "Sign out" }).click();
  assert.equal((await ended).status(), 204);
  await page.reload();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  assert.deepEqual(await window.context.cookies(), []);
  assert.equal(await page.locator("#view").innerText(), "");
  await assertQuiet(window, true);
});

test("browser is signed out from another one", async () => {
  const key = await edge.issueKey();
  const [own, lost, third] = [await staySignedIn(key), await staySignedIn(key), await staySignedIn(key)];
  await follow(own.page, "Sessions");
  const rows = own.page.getByRole("region", { name: "Sessions" }).locator("tbody tr");
  assert.equal(await rows.count(), 3);
  assert.equal(await rows.filter({ hasText: "this browser" }).count(), 1);
  await assertAccessible(own.page, 1280, "console-sessions-light-1280");
  await own.page.setViewportSize({ width: 360, height: 760 });
  await assertAccessible(own.page, 360, "console-sessions-light-360");
  // The newest comes first.
  await rows.first().getByRole("button", { name: "Sign out" }).click();
  await own.page.getByText("Done.", { exact: true }).waitFor();
  assert.equal(await rows.count(), 2);
  const isSignedOut = async ({ page }) => {
    await page.reload();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    assert.equal(await page.locator("#view").innerText(), "");
  };
  await isSignedOut(third);
  await press(own.page, "Sign out everywhere");
  await own.page.getByText("All browsers are signed out.").waitFor();
  for (const window of [own, lost]) await isSignedOut(window);
  assert.equal((await fetch(`${edge.origin}/v1/keys/me`, { headers: { "x-api-key": key } })).status, 200);
  for (const window of [own, lost, third]) await assertQuiet(window, true);
});

test("second secret is made with the keyboard alone, and revoked", async () => {
  const key = await edge.issueKey();
  const window = await openConsole(browser, edge);
  const { keyboard } = window.page;
  await signIn(window.page, key);
  await follow(window.page, "Secrets");
  // The focus is on the heading: the first field comes next.
  await keyboard.press("Tab");
  await keyboard.type("Build server");
  await keyboard.press("Tab");
  await keyboard.press("Space");
  await keyboard.press("Enter");
  const secret = await takeKey(window.page);
  const row = window.page.getByRole("region", { name: "Secrets" }).locator("tbody tr");
  assert.match(await row.innerText(), /^Build server\s+sec_\w{11}\s+all\s+none\s+no\s/);
  const status = async (path) => (await fetch(edge.origin + path, { headers: { "x-api-key": secret } })).status;
  assert.deepEqual([await status("/v1/keys/me"), await status("/v1/keys/me/secrets"), await status("/pages")], [200, 403, 403]);

  await press(window.page, "Revoke");
  await window.page.getByText("None yet.").waitFor();
  assert.equal(await status("/v1/keys/me"), 401);
  await follow(window.page, "Past usage");
  await window.page.getByText("calls as charged").waitFor();
  await assertQuiet(window);
});

test("rotated key is shown once, and the console goes on with it", async () => {
  const key = await edge.issueKey();
  const window = await openConsole(browser, edge);
  await signIn(window.page, key);
  await window.page.getByLabel("The present key stays valid").selectOption("not at all");
  await press(window.page, "Rotate");
  const rotated = await takeKey(window.page);
  assert.match(rotated, /^utg_live_/);
  assert.notEqual(rotated, key);
  assert.ok(!(await window.page.content()).includes(rotated));
  const status = async (own) => (await fetch(`${edge.origin}/v1/keys/me`, { headers: { "x-api-key": own } })).status;
  assert.deepEqual([await status(rotated), await status(key)], [200, 401]);

  await press(window.page, "Revoke this key");
  await window.page.getByText("The key is revoked.").waitFor();
  assert.equal(await status(rotated), 401);
  await assertQuiet(window);
});

test("change is not sent if its question is answered with no", async () => {
  const window = await openConsole(browser, edge);
  await signIn(window.page, made.page.key);
  const before = window.requests.length;
  await window.page.getByRole("button", { name: "Revoke this key" }).click();
  await window.page.keyboard.press("Escape");
  await window.page.getByRole("button", { name: "Revoke this key" }).click();
  await window.page.locator("#ask").getByRole("button", { name: "No" }).click();
  assert.deepEqual(window.requests.slice(before).filter((url) => !url.includes("/console/")), []);
  await assertQuiet(window);
});

test("analytics are a chart with its table", async () => {
  const window = await openConsole(browser, edge);
  await signIn(window.page, made.page.key);
  await follow(window.page, "Pages");
  assert.equal(await window.page.getByRole("link", { name: "Ada <b>Lovelace</b>" }).count(), 1, "titles are text");
  await goTo(window.page, REPORT);
  const chart = window.page.getByRole("img", { name: "Views by day: 2 in all, at most 2" });
  const bars = await chart.locator("rect").evaluateAll((all) => all.map((bar) => bar.getBoundingClientRect().height));
  assert.equal(bars.length, 7);
  assert.ok(bars.at(-1) > 50 && bars.slice(0, -1).every((height) => height === 0), String(bars));
  const rows = await window.page.getByRole("region", { name: "Counts over time" }).locator("tbody tr").allInnerTexts();
  assert.equal(rows.length, 7);
  assert.match(rows.at(-1), /^\d{4}-\d\d-\d\d\t2\t1\t1\t0$/);
  assert.equal(await window.page.getByRole("region", { name: "Top links" }).locator("tbody th").innerText(), "News");
  await assertQuiet(window);
});

test("delivery that failed is retried", async () => {
  const { webhook, delivery, page } = made;
  const attempts = async () => (await call(page.key, "GET", `/webhooks/${webhook.id}/deliveries/${delivery.id}`)).attempts.length;
  const window = await openConsole(browser, edge);
  await signIn(window.page, page.key);
  await follow(window.page, "Webhooks");
  await window.page.getByRole("link", { name: "Deliveries" }).click();
  await window.page.locator("#view").getByRole("heading", { name: "Deliveries" }).waitFor();
  const before = await attempts();
  const sent = window.page.waitForResponse((response) => response.url().endsWith(`/${delivery.id}/retry`));
  await window.page.getByRole("button", { name: "Retry" }).first().click();
  assert.equal((await sent).status(), 202);
  await window.page.getByText("Done.", { exact: true }).waitFor();
  await until("retry", async () => (await attempts()) > before);
  await assertQuiet(window);
});

test("webhook is made, tried, changed and deleted with the keyboard alone", async () => {
  const window = await openConsole(browser, edge);
  const { page } = window;
  const { keyboard } = page;
  await signIn(page, made.page.key);
  await follow(page, "Webhooks");
  await reach(page, "Address of your receiver");
  await keyboard.type("https://hooks.example.com/shop");
  await reach(page, "qr_scan");
  await keyboard.press("Space");
  await reach(page, "page_published");
  await keyboard.press("Space");
  await reach(page, "Description");
  await keyboard.type("Shop");
  await reach(page, "Own headers");
  await keyboard.type("authorization: Bearer a:b");
  await keyboard.press("Enter");
  await keyboard.type("x-shop: 7");
  await reach(page, "Make webhook");
  await keyboard.press("Enter");
  const secret = await takeKey(page);
  assert.match(secret, /^whsec_/);
  assert.ok(!(await page.content()).includes(secret), "the secret is shown once");
  const webhooks = async () => (await call(made.page.key, "GET", "/webhooks")).data;
  const { id } = (await webhooks()).find(({ description }) => description === "Shop");
  const read = () => call(made.page.key, "GET", `/webhooks/${id}`);
  const created = await read();
  assert.deepEqual([created.url, created.events, created.header_names], ["https://hooks.example.com/shop", ["qr_scan", "page_published"], ["authorization", "x-shop"]]);

  await reach(page, "https://hooks.example.com/shop");
  await keyboard.press("Enter");
  await page.locator("#view").getByRole("heading", { name: "Webhook", exact: true }).waitFor();
  await reach(page, "Send a test");
  await keyboard.press("Enter");
  // Nobody listens there.
  await page.getByText(/^Your server did not respond: connection after \d+ ms\.$/).waitFor();
  await page.locator("#view").getByRole("heading", { name: "What was sent" }).waitFor();
  assert.match(await page.locator("#view pre").innerText(), /"test": true/);
  const { data } = await call(made.page.key, "GET", `/webhooks/${id}/deliveries`);
  assert.deepEqual(data.map(({ type }) => type), ["test"]);
  await goTo(page, `/webhooks/${id}`);
  await page.locator("#view").getByRole("heading", { name: "Webhook", exact: true }).waitFor();
  await reach(page, "qr_scan");
  await keyboard.press("Space");
  await reach(page, "Change own headers");
  await keyboard.type("x-shop:");
  await reach(page, "Save");
  await keyboard.press("Enter");
  await page.getByText("Done.", { exact: true }).waitFor();
  const changed = await read();
  assert.deepEqual([changed.events, changed.header_names, changed.description], [["page_published"], ["authorization"], "Shop"]);

  await goTo(page, `/webhooks/${id}/deliveries`);
  await page.getByLabel("Which").selectOption("all");
  await press(page, "Replay");
  await page.getByText("Done.", { exact: true }).waitFor();
  await goTo(page, `/webhooks/${id}`);
  await press(page, "Disable");
  await page.getByRole("button", { name: "Enable", exact: true }).waitFor();
  await press(page, "Delete");
  await page.locator("#view").getByRole("heading", { name: "New webhook" }).waitFor();
  assert.ok((await webhooks()).every((webhook) => webhook.id !== id));
  await assertQuiet(window);
});

test("webhook that the API refuses is explained", async () => {
  const window = await openConsole(browser, edge);
  const { page } = window;
  await signIn(page, made.page.key);
  await follow(page, "Webhooks");
  await page.getByLabel("Address of your receiver").fill("http://127.0.0.1/");
  await page.getByRole("button", { name: "Make webhook" }).click();
  const problem = page.getByRole("alert");
  await problem.getByRole("link", { name: "fields-invalid" }).waitFor();
  for (const name of ["url", "events"]) assert.equal(await page.locator(`[name=${name}][aria-invalid]`).count(), 1, name);
  assert.equal(await page.getByLabel("Address of your receiver").inputValue(), "http://127.0.0.1/", "what was typed stays");
  await window.close();
});

test("administrator issues a key, finds it, changes it and revokes it", async () => {
  const window = await openConsole(browser, edge);
  const { page } = window;
  await signIn(page, ADMIN_SECRET);
  await page.getByLabel("E-mail of the holder").fill("grace+cobol@example.com");
  await page.getByLabel("Name", { exact: true }).fill("Grace");
  await page.getByLabel("Units a day").fill("500");
  await page.getByRole("button", { name: "Issue" }).click();
  const key = await takeKey(page);
  const read = async () => (await fetch(`${edge.origin}/v1/keys/me`, { headers: { "x-api-key": key } })).json();

  await page.getByLabel("Name, e-mail or id").fill("GRACE+cobol");
  await page.getByRole("button", { name: "Search" }).click();
  const { id } = await read();
  await page.locator("#view tbody tr").getByText(id).click();
  await page.locator("#view").getByRole("heading", { name: "Key", exact: true }).waitFor();

  await page.getByLabel("Calls a minute").fill("7");
  await press(page, "Change limits");
  await page.getByText("7 a minute").waitFor();
  await page.getByText("500 units a day").waitFor();
  await page.getByLabel("Units a month").fill("9000");
  await press(page, "Change unit limits");
  await page.getByText("9000 units a month").waitFor();
  assert.deepEqual((await read()).limits.units, { minute: null, day: 500, month: 9000 });
  await page.locator("#view").getByLabel("Tier").selectOption("pro");
  await press(page, "Change tier");
  await page.locator(".facts").getByText("pro", { exact: true }).waitFor();
  assert.deepEqual([(await read()).tier, (await read()).usage.minute.limit], ["pro", 7]);
  assert.equal((await read()).when_meter_unreachable, "continue");
  await page.locator("#view").getByLabel("Calls while the key's meter is out of reach").selectOption("refuse");
  await press(page, "Change calls without a meter");
  await page.locator(".facts").getByText("refuse", { exact: true }).waitFor();
  assert.equal((await read()).when_meter_unreachable, "refuse");
  await press(page, "Revoke");
  await page.locator(".facts").getByText("revoked").waitFor();
  assert.equal((await read()).code, "key-revoked");
  await assertQuiet(window);
});

test("administrator searches keys, sorts them with the keyboard, and goes on to the next page", async () => {
  for (const name of ["Sorted Bob", "sorted ada", "Sorted Cleo"]) {
    await edge.issueKey({ name, email: `${name.split(" ")[1].toLowerCase()}@sorted.example.com` });
  }
  const window = await openConsole(browser, edge);
  const { page } = window;
  await signIn(page, ADMIN_SECRET);
  await page.getByLabel("Name, e-mail or id").fill("SORTED");
  await page.getByRole("button", { name: "Search" }).click();
  const names = page.locator("#view tbody td[data-column=Name]");
  const assertNames = async (...expected) => {
    await names.nth(0).getByText(expected[0], { exact: true }).waitFor();
    assert.deepEqual(await names.allInnerTexts(), expected);
  };
  const orders = () => page.locator("#view thead th[aria-sort]").evaluateAll((all) => all.map((heading) => [heading.innerText.trim(), heading.ariaSort]));
  const sorts = async (order) => {
    const shown = page.waitForResponse((response) => response.url().includes(`sort=${order}`));
    await page.keyboard.press("Enter");
    await shown;
  };
  await page.locator("#view tbody tr").nth(2).waitFor();
  assert.deepEqual(await orders(), [["Issued", "descending"]]);

  // The heading comes before the form that issues a key, which has a field with the same name.
  await reach(page, "E-mail");
  await sorts("email");
  await assertNames("sorted ada", "Sorted Bob", "Sorted Cleo");
  assert.deepEqual(await orders(), [["E-mail", "ascending"]]);
  await sorts("-email");
  await assertNames("Sorted Cleo", "Sorted Bob", "sorted ada");
  assert.deepEqual(await orders(), [["E-mail", "descending"]]);
  await page.keyboard.press("Shift+Tab");
  await sorts("name");
  await assertNames("sorted ada", "Sorted Bob", "Sorted Cleo");
  assert.deepEqual(await orders(), [["Name", "ascending"]]);
  assert.equal(await page.getByLabel("Name, e-mail or id").inputValue(), "SORTED");
  assert.match(await page.evaluate(() => location.hash), /^#\/v1\/keys\?sort=name&q=SORTED$/);

  await page.getByLabel("Tier").first().selectOption("free");
  await page.getByRole("button", { name: "Search" }).click();
  await page.waitForFunction(() => location.hash.includes("tier=free"));
  assert.match(await page.evaluate(() => location.hash), /sort=name/, "a search keeps the order");
  await goTo(page, "/v1/keys?q=sorted&sort=name&limit=2");
  await assertNames("sorted ada", "Sorted Bob");
  await page.getByRole("link", { name: "Next page" }).click();
  await assertNames("Sorted Cleo");
  assert.equal(await page.getByRole("link", { name: "Next page" }).count(), 0);
  await assertAccessible(page, 1280, "console-keys-sorted-light-1280");
  await page.goBack();
  await assertNames("sorted ada", "Sorted Bob");
  await page.setViewportSize({ width: 360, height: 760 });
  await page.getByRole("link", { name: "Name", exact: true }).click();
  await assertNames("Sorted Cleo", "Sorted Bob");
  await assertAccessible(page, 360, "console-keys-sorted-light-360");
  await assertQuiet(window);
});

test("administrator suspends a page and restores it", async () => {
  const window = await openConsole(browser, edge);
  await signIn(window.page, ADMIN_SECRET);
  await follow(window.page, "Reports");
  await window.page.getByLabel("Page: its slug or its id").fill("ada");
  await window.page.getByRole("button", { name: "Open the page" }).click();
  await window.page.getByLabel("Reason").fill("Reported three times");
  await press(window.page, "Suspend this page");
  await window.page.getByText("Reported three times").waitFor();
  await press(window.page, "Restore this page");
  await window.page.getByRole("button", { name: "Suspend this page" }).waitFor();
  await assertQuiet(window);
});

test("wrong secret and refused call are explained", async () => {
  const window = await openConsole(browser, edge);
  await window.page.getByLabel("API key, or the admin secret").fill("utg_live_nonsense");
  await window.page.getByRole("button", { name: "Sign in" }).click();
  await window.page.getByRole("alert").getByRole("link", { name: "key-malformed" }).waitFor();
  await signIn(window.page, await edge.issueKey());
  assert.equal(await window.page.getByRole("alert").count(), 0, "the problem is over");
  await window.page.locator("#menu").getByRole("link", { name: "Pages" }).click();
  await window.page.getByRole("alert").getByRole("link", { name: "plan-required" }).waitFor();
  await window.close();
  assert.ok(window.complaints.every((text) => text.startsWith("Failed to load resource")), String(window.complaints));
});

test("keyboard alone is enough", async () => {
  const { context, page, close } = await openConsole(browser, edge);
  await reach(page, "API key");
  await page.keyboard.insertText(await edge.issueKey());
  await page.keyboard.press("Enter");
  await page.locator("#view h2").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.innerText), "Usage", "the view has the focus");
  await reach(page, "Revoke this key");
  await page.keyboard.press("Enter");
  await page.locator("#ask[open]").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.innerText), "No", "the harmless answer is chosen");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByText("The key is revoked.").waitFor();
  await context.close();
  await close();
});

test("key that is typed before the console is drawn is taken", async () => {
  const window = await openConsole(browser, edge, { typesEarly: true });
  await window.page.keyboard.insertText(await edge.issueKey());
  await window.page.keyboard.press("Enter");
  await window.page.locator("#view h2").waitFor();
  await assertQuiet(window);
});

/** Every view, by the name of its screenshot. */
function views() {
  const { page, webhook, delivery, source, id } = made;
  return {
    [page.key]: {
      usage: "/v1/keys/me", history: "/v1/usage?group_by=hour", calls: "/v1/usage/calls", alerts: "/v1/keys/me/alerts", secrets: "/v1/keys/me/secrets", pages: "/pages", page: `/pages/${page.id}`, revisions: `/pages/${page.id}/revisions`,
      sources: `/pages/${page.id}/product-sources`, source: `/pages/${page.id}/product-sources/${source.id}`, runs: `/pages/${page.id}/product-sources/${source.id}/runs`, analytics: REPORT, account: "/account", webhooks: "/webhooks",
      webhook: `/webhooks/${webhook.id}`, deliveries: `/webhooks/${webhook.id}/deliveries`, delivery: `/webhooks/${webhook.id}/deliveries/${delivery.id}`,
    },
    [ADMIN_SECRET]: {
      keys: "/v1/keys", key: `/v1/keys/${id}?include=usage`, reports: "/admin/reports", incidents: "/v1/status/incidents", "suspended-page": "/admin/pages/ada",
      "suspended-account": `/admin/accounts/${id}`,
    },
  };
}

for (const scheme of ["light", "dark"]) {
  for (const width of [360, 1280]) {
    test(`views in ${scheme} at ${width} px have no finding of axe and fit`, async () => {
      for (const [secret, paths] of Object.entries(views())) {
        const window = await openConsole(browser, edge, { colorScheme: scheme, viewport: { width, height: 760 } });
        await assertAccessible(window.page, width, `console-sign-in-${scheme}-${width}`);
        await signIn(window.page, secret);
        for (const [name, path] of Object.entries(paths)) {
          await goTo(window.page, path);
          await assertAccessible(window.page, width, `console-${name}-${scheme}-${width}`);
          assert.ok((await window.page.locator("#menu a[aria-current]:visible").count()) <= 1, `${name}: one link of the menu is current`);
        }
        await assertQuiet(window);
      }
    });
  }
}

async function assertAccessible(page, width, name) {
  await page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`), fullPage: true });
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, name);
  const sideways = await page.locator(".scroll, .tall").evaluateAll((all) => all.filter((part) => part.scrollWidth > part.clientWidth).map((part) => part.innerText));
  assert.deepEqual(sideways, [], `${name}: nothing scrolls sideways`);
  await page.evaluate(AXE);
  const { violations, passes } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  assert.ok(passes.length > 10, "axe has looked at the page");
  assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]), [], name);
}
