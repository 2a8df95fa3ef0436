// The console of a gateway without an edge, served by the real proxy.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { findViolations } from "./parts/axe.mjs";
import { startChromium } from "./parts/chromium.mjs";
import { assertQuiet } from "./parts/console.mjs";
import { ADMIN_SECRET } from "./parts/edge.mjs";
import { startDirect } from "./parts/proxy.mjs";
import { openWeb } from "./parts/web_window.mjs";


let gateway;
let browser;
let tools;

before(async () => {
  tools = createServer((_, response) => response.end("{}"));
  await new Promise((resolve) => tools.listen(0, "127.0.0.1", resolve));
  [gateway, browser] = await Promise.all([startDirect(`127.0.0.1:${tools.address().port}`), startChromium()]);
});
after(async () => {
  await Promise.all([browser?.close(), gateway?.end()]);
  tools?.close();
});

const open = (secret, address, options = {}) => openWeb(browser, gateway, secret, address, options);
const status = async () => (await (await fetch(`${gateway.origin}/v1/status`)).json()).tools;
const menu = (page) => page.getByRole("navigation", { name: "Console" }).getByRole("link").allInnerTexts();

test("holder of a key sees its usage, secrets and tools, and nothing of an edge", async () => {
  const key = await gateway.issueKey();
  for (let nth = 0; nth < 3; nth += 1) {
    const called = await fetch(`${gateway.origin}/v1/qr/generate`, { headers: { "x-api-key": key } });
    assert.equal(called.status, 200, await called.text());
  }
  const window = await open(key);
  const { page } = window;
  const heading = (name) => page.getByRole("heading", { name, level: 1, exact: true }).waitFor();
  await heading("Usage");
  assert.deepEqual(await menu(page), ["Keys", "Usage", "Tools"]);
  const today = page.getByRole("region", { name: "Today by tool" });
  await today.waitFor();
  assert.match(await today.innerText(), /QR\s+100%\s+3$/);
  await page.getByRole("link", { name: "Tools", exact: true }).click();
  await heading("Tools");
  await page.locator("main li").filter({ hasText: "Available" }).first().waitFor();
  const listed = await page.locator("main li").count();
  assert.equal(listed, (await status()).length);
  await page.getByRole("link", { name: "Keys", exact: true }).click();
  await heading("Keys");
  await page.getByRole("button", { name: "New secret" }).first().click();
  await page.getByLabel("What is it for?").fill("Website");
  await page.getByLabel("Every tool, those to come too").check();
  assert.equal(await page.getByLabel("Pages, webhooks and analytics").count(), 0);
  await page.getByRole("button", { name: "Make secret" }).click();
  const made = await page.locator("code.secret").innerText();
  assert.equal((await fetch(`${gateway.origin}/v1/keys/me`, { headers: { "x-api-key": made } })).status, 200);
  await page.getByRole("button", { name: "I have kept it" }).click();
  await page.keyboard.press("Control+k");
  await page.locator(".palette-item").first().waitFor();
  assert.deepEqual(await page.locator(".palette-item").allInnerTexts(), ["Keys", "Usage", "Tools"]);
  await page.keyboard.press("Escape");
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, document.documentElement.outerHTML]));
  assert.ok(!kept.includes(key) && !kept.includes(made));
  assert.deepEqual(await window.context.cookies(), []);
  await page.reload();
  await heading("Sign in");
  assert.equal(await page.getByLabel(/^Keep me/).count(), 0);
  await assertQuiet(window);
});

test("bar of a meter is as long as what was used, however a language writes percent", async () => {
  const key = await gateway.issueKey();
  for (let nth = 0; nth < 3; nth += 1) await (await fetch(`${gateway.origin}/v1/qr/generate`, { headers: { "x-api-key": key } })).text();
  for (const locale of ["en-GB", "de-DE", "ar-EG", "ja-JP"]) {
    const window = await open(key, "/", { locale });
    const meter = window.page.getByRole("meter").first();
    await meter.and(window.page.locator("[aria-valuenow='3']")).waitFor();
    const [shown, expected] = await meter.evaluate((bar) => [bar.firstElementChild.getBoundingClientRect().width / bar.getBoundingClientRect().width, bar.ariaValueNow / bar.ariaValueMax]);
    assert.ok(Math.abs(shown - expected) < 0.01 && shown > 0, `${locale}: ${shown} of ${expected}`);
    await assertQuiet(window);
  }
});

test("operator issues a key", async () => {
  const window = await open(ADMIN_SECRET);
  const { page } = window;
  assert.deepEqual(await menu(page), ["Keys", "Tools"]);
  await page.getByRole("button", { name: "Issue a key" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Grace");
  await page.getByLabel("E-mail", { exact: true }).fill("grace@example.com");
  assert.equal(await page.getByLabel("Pages", { exact: true }).count(), 0);
  await page.getByRole("button", { name: "Issue", exact: true }).click();
  const made = await page.locator("code.secret").innerText();
  assert.equal((await fetch(`${gateway.origin}/v1/keys/me`, { headers: { "x-api-key": made } })).status, 200);
  await page.getByRole("button", { name: "I have kept it" }).click();
  await page.getByRole("link", { name: "Grace" }).click();
  await page.getByRole("heading", { name: "Grace", level: 1 }).waitFor();
  await assertQuiet(window);
});

for (const colorScheme of ["light", "dark"]) {
  test(`views of direct mode in ${colorScheme} have no finding of axe`, async () => {
    const key = await gateway.issueKey();
    for (const [secret, addresses] of [[key, ["/", "/developers/keys", "/developers/tools"]], [ADMIN_SECRET, ["/", "/developers/tools"]]]) {
      for (const address of addresses) {
        const window = await open(secret, address, { colorScheme });
        assert.deepEqual(await findViolations(window.page, 10), [], address);
        await assertQuiet(window);
      }
    }
    const context = await browser.newContext({ colorScheme });
    const page = await context.newPage();
    await page.goto(`${gateway.origin}/console`);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    assert.deepEqual(await findViolations(page, 10), [], "sign-in");
    await context.close();
  });
}

test("address of a view that only an edge has leads to nothing", async () => {
  const key = await gateway.issueKey();
  for (const address of ["/pages", "/settings", "/analytics", "/developers/webhooks"]) {
    const window = await open(key, address);
    await window.page.getByText("There is nothing at this address").waitFor();
    await assertQuiet(window);
  }
});
