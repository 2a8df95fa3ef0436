// Signing in to the console, what a session may do, and the addresses of its views.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startChromium } from "./parts/chromium.mjs";
import { assertQuiet } from "./parts/console.mjs";
import { startEdge } from "./parts/edge.mjs";
import { openWeb } from "./parts/web_window.mjs";

let edge;
let browser;

before(async () => {
  [edge, browser] = await Promise.all([startEdge(), startChromium()]);
});
after(() => Promise.all([browser?.close(), edge?.end()]));

const statusOf = async (key) => (await fetch(`${edge.origin}/v1/keys/me`, { headers: { "x-api-key": key } })).status;

test("browser that stays signed in types the key for a change of the key", async () => {
  const key = await edge.issueKey();
  const window = await openWeb(browser, edge, key, "/developers/keys");
  const { page } = window;
  const [cookie] = await window.context.cookies();
  assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.value.includes(key)], [true, "Strict", false]);
  assert.equal(await page.evaluate(() => document.cookie), "");
  await page.reload();
  const again = page.getByRole("dialog", { name: "Type your key again" });
  const rotate = async () => {
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByRole("button", { name: "Make a new one" }).click();
    await again.waitFor();
  };
  await rotate();
  await again.getByRole("button", { name: "Cancel" }).click();
  await again.waitFor({ state: "detached" });
  await rotate();
  await again.getByLabel("API key").fill(`${key}x`);
  await again.getByRole("button", { name: "Continue" }).click();
  await again.waitFor({ state: "detached" });
  assert.equal(await statusOf(key), 200, "nothing was changed");
  await rotate();
  await again.getByLabel("API key").fill(key);
  await again.getByRole("button", { name: "Continue" }).click();
  const rotated = await page.locator("code.secret").innerText();
  assert.match(rotated, /^utg_live_/);
  assert.notEqual(rotated, key);
  await page.getByRole("button", { name: "I have kept it" }).click();
  await page.locator("code.secret").waitFor({ state: "detached" });
  assert.ok(!(await page.content()).includes(rotated));
  assert.equal(await statusOf(rotated), 200);
  await assertQuiet(window, true);
});

test("key is kept in the memory of the page and nowhere else", async () => {
  const key = await edge.issueKey({ biolink_plan: "business" });
  const context = await browser.newContext();
  const page = await context.newPage();
  const requests = [];
  page.on("request", (request) => requests.push(request.url()));
  await page.goto(`${edge.origin}/console/pages`);
  await page.getByLabel("API key").fill(key);
  await page.getByLabel("Keep me signed in").uncheck();
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Pages", level: 1 }).waitFor();
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, document.documentElement.outerHTML]));
  assert.ok(!kept.includes(key));
  assert.deepEqual(await context.cookies(), []);
  assert.deepEqual(requests.filter((url) => url.includes(key) || !url.startsWith(edge.origin)), []);
  await page.reload();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  assert.equal(await page.locator("h1").count(), 1);
  await context.close();
});

test("reload and back keep the view, and an address of none says so", async () => {
  const key = await edge.issueKey({ biolink_plan: "business" });
  const window = await openWeb(browser, edge, key, "/pages");
  const { page } = window;
  const heading = (name) => page.getByRole("heading", { name, level: 1, exact: true }).waitFor();
  await heading("Pages");
  await page.getByRole("link", { name: "Webhooks", exact: true }).first().click();
  await heading("Webhooks");
  assert.equal(new URL(page.url()).pathname, "/console/developers/webhooks");
  await page.reload();
  await heading("Webhooks");
  await page.goBack();
  await heading("Pages");
  await page.goto(`${edge.origin}/console/nowhere`);
  await page.getByText(/no such page|not found|nothing here|no view/i).first().waitFor();
  await assertQuiet(window);
});

test("wrong secret is explained", async () => {
  const page = await browser.newPage();
  await page.goto(`${edge.origin}/console`);
  for (const secret of ["utg_live_nothing", "no secret of the operator"]) {
    await page.getByLabel("API key").fill(secret);
    await page.getByRole("button", { name: "Sign in" }).click();
    const alert = page.getByRole("alert");
    await alert.waitFor();
    assert.ok((await alert.innerText()).length > 20);
    assert.equal(await page.getByRole("heading", { name: "Sign in" }).count(), 1);
  }
  await page.close();
});
