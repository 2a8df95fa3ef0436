// The reference, as a browser shows it: accessible, with a choice of languages that needs no script, and with forms
// that call the running service. Leaves screenshots under target/screenshots/.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { findViolations } from "./parts/axe.mjs";
import { startChromium } from "./parts/chromium.mjs";
import { startEdge } from "./parts/edge.mjs";
import { openPage } from "./parts/page.mjs";

const ROOT = path.resolve(import.meta.dirname, "../..");
const SCREENSHOTS = path.join(process.env.CARGO_TARGET_DIR || path.join(ROOT, "target"), "screenshots");
const PAGES = ["/docs", "/docs/webhooks", "/docs/objects", "/problems/fields-invalid"];
/** A PNG of one pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";
const SCHEMES = ["light", "dark"];
const WIDTHS = [360, 1280];

let edge;
let browser;

before(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  [edge, browser] = await Promise.all([startEdge(), startChromium()]);
});
after(() => Promise.all([browser?.close(), edge?.end()]));

const open = (address, options) => openPage(browser, edge.origin + address, options, { waitUntil: "networkidle" });

for (const address of PAGES) {
  for (const colorScheme of SCHEMES) {
    for (const width of WIDTHS) {
      test(`${address} in ${colorScheme} at ${width} px has no finding of axe and fits`, async () => {
        const { page, complaints, requests } = await open(address, { colorScheme, viewport: { width, height: 800 } });
        const name = address.slice(1).replaceAll("/", "-");
        await page.screenshot({ path: path.join(SCREENSHOTS, `${name}-${colorScheme}-${width}.png`) });
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
        assert.deepEqual(requests.filter((url) => !url.startsWith(`${edge.origin}/`)), []);
        assert.deepEqual(complaints, []);
        assert.deepEqual(await findViolations(page, 10), []);
        await page.close();
      });
    }
  }
}

test("a language is chosen for the whole page without a script", async () => {
  const { page } = await open("/docs/manage-keys", { javaScriptEnabled: false });
  const visible = (language) => page.locator(`pre.${language}:visible`).count();
  const all = await page.locator("pre.py").count();
  assert.ok(all > 5);
  assert.deepEqual([await visible("sh"), await visible("py")], [all, 0]);
  for (const language of ["js", "py", "rs", "go", "sh"]) {
    await page.locator(`#in-${language}`).check();
    for (const other of ["js", "py", "rs", "go", "sh"]) {
      assert.equal(await visible(other), other === language ? all : 0, `${other} with ${language}`);
    }
  }
  await page.close();
});

test("without a script there is no search and no form", async () => {
  const { page } = await open("/docs/manage-keys", { javaScriptEnabled: false });
  assert.equal(await page.locator("#search").isVisible(), false);
  assert.equal(await page.getByText("Try it").count(), 0);
  assert.equal(await page.locator("#contents").getByRole("link", { name: /^Issue a key/ }).isVisible(), true);
  await page.close();
});

test("contents are folded on a phone and opened without a script", async () => {
  const { page } = await open("/docs", { javaScriptEnabled: false, viewport: { width: 360, height: 800 } });
  assert.equal(await page.locator("#contents").isVisible(), false);
  await page.getByLabel("Contents", { exact: true }).first().check();
  assert.equal(await page.locator("#contents").isVisible(), true);
  await page.close();
});

test("search finds operations of every page", async () => {
  const { page } = await open("/docs");
  const search = page.getByLabel("Search the reference");
  const entries = page.locator("#results li");
  await search.fill("rotate secret");
  await page.locator("#search output").getByText("found").waitFor();
  const found = await entries.allTextContents();
  assert.ok(found.some((text) => text.includes("/webhooks/{webhook_id}/secret/rotate")), String(found));
  assert.match(await page.locator("#search output").innerText(), new RegExp(`^${found.length} found$`));
  assert.equal(await page.locator("#contents").isVisible(), false);
  await search.fill("");
  await page.locator("#contents").waitFor();
  await search.fill("zebra");
  await page.locator("#search output").getByText("0 found").waitFor();
  assert.equal(await entries.count(), 0);
  await page.close();
});

test("search finds fields, codes and texts of every page", async () => {
  const { page } = await open("/docs/webhooks");
  const search = page.getByLabel("Search the reference");
  const entries = page.locator("#results li");
  const result = page.locator("#search output");
  for (const [words, expected] of [
    ["429", "Send it again"],
    ["Retry-After", "Calls by tier"],
    ["idempotency-key", "Name the request"],
    ["next_cursor", "PageList"],
    ["mcp", "Connect an agent"],
    ["dry_run", "Create a page"],
  ]) {
    await search.fill(words);
    await entries.filter({ hasText: expected }).first().waitFor();
    assert.match(await result.innerText(), /^[1-9]\d* found$/, words);
  }
  await page.close();
});

test("address of before the split leads to where the place is now", async () => {
  for (const [before, now] of [["/docs#read_own_key", "/docs/keys#read_own_key"], ["/docs/pages#Page", "/docs/objects#Page"], ["/docs#errors", "/docs/errors#errors"]]) {
    const page = await browser.newPage();
    await page.goto(edge.origin + before);
    await page.waitForURL(edge.origin + now);
    await page.close();
  }
});

test("every page is reached from the first by its link to the next", async () => {
  const { page } = await open("/docs");
  let count = 1;
  for (let next = page.getByRole("link", { name: /^Next/ }); (await next.count()) > 0; count += 1) {
    const address = new URL(await next.getAttribute("href"), edge.origin).href;
    // Not by the pointer: sections are laid out as they come into sight, so a link may move below it.
    await next.press("Enter");
    await page.waitForURL(address);
    assert.equal(new URL(await page.getByRole("link", { name: /^Previous/ }).getAttribute("href"), address).pathname.startsWith("/docs"), true);
  }
  assert.ok(count > 20, `${count} pages`);
  await page.close();
});

test("code is copied as it is shown, without its colors", async () => {
  const context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  await page.goto(`${edge.origin}/docs/calls`);
  const code = page.locator("#qr_post pre.sh");
  assert.ok((await code.locator("i").count()) > 0, "strings have a color");
  await code.getByRole("button", { name: "Copy" }).click();
  await code.getByRole("button", { name: "Copied" }).waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(copied, /^curl -sS -X POST http:\/\/127\.0\.0\.1:\d+\/v1\/qr\/generate/);
  await context.close();
});

test("request and response stand side by side on a wide screen", async () => {
  const { page } = await open("/docs/keys", { viewport: { width: 1440, height: 900 } });
  const [says, shows] = await page.locator("#read_own_key .sides > div").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
  assert.ok(says.right <= shows.left && Math.abs(says.top - shows.top) < 2, JSON.stringify([says, shows]));
  await page.close();
});

test("form fills in ids of the account once it has the key", async () => {
  const key = await edge.issueKey({ biolink_plan: "business" });
  const headers = { "x-api-key": key, "content-type": "application/json" };
  const body = JSON.stringify({ title: "Ada", status: "published" });
  const created = await (await fetch(`${edge.origin}/pages`, { method: "POST", headers, body })).json();
  const { page } = await open("/docs/pages");
  const section = page.locator("section#read_page");
  await section.getByText("Try it").click();
  await section.getByLabel(/^Your API key/).fill(key);
  await section.getByLabel(/^Your API key/).blur();
  await page.waitForFunction((id) => [...document.querySelectorAll("#read_page input")].some(({ value }) => value === id), created.id);
  await section.getByRole("button", { name: "Send GET" }).click();
  await section.getByRole("status").getByText(/^200/).waitFor();
  await page.close();
});

test("form of an operation shows status, headers and body of the response", async () => {
  const key = await edge.issueKey();
  const { page, complaints } = await open("/docs/keys");
  const section = page.locator("section#read_own_key");
  await section.getByText("Try it").click();
  await section.getByLabel(/^Your API key/).fill(key);
  await section.getByRole("button", { name: "Send GET" }).click();
  await section.getByRole("status").getByText(/^200/).waitFor();
  const shown = await section.getByRole("status").innerText();
  assert.match(shown, /ratelimit-policy: "minute"/);
  assert.match(shown, /"email": "ada@example.com"/);
  assert.deepEqual(complaints, []);

  // Another form has the key too, which is nowhere else.
  const other = page.locator("section#revoke_own_key");
  await other.getByText("Try it").click();
  assert.equal(await other.getByLabel(/^Your API key/).inputValue(), key);
  const kept = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage, document.cookie, location.href, history.state]));
  assert.ok(!kept.includes(key.slice(9)), kept);
  await page.reload();
  await section.getByText("Try it").click();
  assert.equal(await section.getByLabel(/^Your API key/).inputValue(), "");
  await page.close();
});

test("form of an upload takes a file and sends its bytes", async () => {
  const key = await edge.issueKey({ biolink_plan: "business" });
  const { page } = await open("/docs/images");
  const section = page.locator("section#upload_image");
  await section.getByText("Try it").click();
  await section.getByLabel(/^Your API key/).fill(key);
  const pixel = Buffer.from(PIXEL, "base64");
  await section.getByLabel("Body (a file)").setInputFiles({ name: "photo.png", mimeType: "image/png", buffer: pixel });
  await section.getByRole("button", { name: "Send POST" }).click();
  await section.getByRole("status").getByText(/^201/).waitFor();
  const [{ width, height, type }] = (await (await fetch(`${edge.origin}/images`, { headers: { "x-api-key": key } })).json()).data;
  assert.deepEqual({ width, height, type }, { width: 1, height: 1, type: "image/png" });
  await page.close();
});

test("form sends parameters and a body, and shows a problem as it is", async () => {
  const key = await edge.issueKey({ biolink_plan: "business" });
  const { page } = await open("/docs/pages");
  const section = page.locator("section#create_page");
  await section.getByText("Try it").click();
  await section.getByLabel(/^Your API key/).fill(key);
  await section.getByLabel("dry_run (query)").fill("true");
  await section.getByRole("button", { name: "Send POST" }).click();
  await section.getByRole("status").getByText(/^200/).waitFor();
  await section.getByLabel("Body (JSON)").fill('{"titel": "Ada"}');
  await section.getByRole("button", { name: "Send POST" }).click();
  await section.getByRole("status").getByText(/^422/).waitFor();
  assert.match(await section.getByRole("status").innerText(), /"code": "fields-invalid"/);
  await page.close();
});
