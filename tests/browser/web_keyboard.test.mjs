// The web app without a mouse, with the real worker behind it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { startChromium } from "./parts/chromium.mjs";
import { assertQuiet, callApi } from "./parts/console.mjs";
import { startEdge } from "./parts/edge.mjs";
import { keyboard } from "./parts/keyboard.mjs";
import { openWeb } from "./parts/web_window.mjs";

const PIXEL = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

let edge;
let browser;

before(async () => {
  [edge, browser] = await Promise.all([startEdge(), startChromium()]);
});
after(() => Promise.all([browser?.close(), edge?.end()]));

test("shop owner gets from nothing to a page and a QR code with keys alone", async () => {
  const key = await edge.issueKey({ biolink_plan: "business", name: "Lotte Brandt" });
  const window = await openWeb(browser, edge, key);
  const { page } = window;
  const { press, push, type, reach, presses } = keyboard(page);
  const button = (name, exact = true) => page.getByRole("button", { name, exact });

  await push(page.getByRole("link", { name: "Make a page" }));
  await type(page.getByLabel("What is it called?"), "Blumen Lotte");
  await press("Enter");
  await page.getByRole("heading", { name: "Blumen Lotte", level: 1 }).waitFor();
  await type(page.getByLabel("Bio"), "Flowers from our own field.");
  await reach(page.getByLabel("Picture: upload"));
  const chooser = page.waitForEvent("filechooser");
  await press("Space");
  await (await chooser).setFiles({ name: "field.png", mimeType: "image/png", buffer: PIXEL });
  await page.getByText("The picture is stored.").waitFor();
  for (const [title, url] of [["Shop", "shop.example.com"], ["Hours", "https://example.com/hours"], ["Map", "https://example.com/map"]]) {
    if (title !== "Shop") await push(button("Add"), "Enter", "Shift+Tab");
    await push(page.getByRole("group", { name: "What to add" }).getByRole("button", { name: /^Link/ }));
    // The title of what is new has the focus.
    await page.waitForFunction(() => document.activeElement.matches("input") && document.activeElement.value === "");
    await page.keyboard.type(title);
    await type(page.getByLabel(`Address of ${title}`), url);
  }
  await push(button(/^Move Map/), "ArrowUp", "Shift+Tab");
  await page.getByText("Place 2 of 3.").waitFor();
  await push(button("Look"), "Enter", "Shift+Tab");
  await push(page.getByRole("group", { name: "Looks" }).getByRole("button", { name: "Forest" }));
  await push(button("Publish"), "Enter", "Shift+Tab");
  await push(button("Publish now"));
  await page.getByRole("heading", { name: "Your page is live" }).waitFor();
  await push(page.getByRole("link", { name: "Download the QR code" }));
  await page.getByRole("heading", { name: "Links and QR", level: 1 }).waitFor();
  const downloaded = page.waitForEvent("download");
  await push(button(/as PNG$/));
  const file = readFileSync(await (await downloaded).path());

  assert.equal(file.subarray(1, 4).toString(), "PNG");
  const [stored] = (await callApi(edge, key, "GET", "/pages")).data;
  const whole = await callApi(edge, key, "GET", `/pages/${stored.id}`);
  assert.deepEqual([stored.status, whole.theme.preset, whole.bio, whole.links.map(({ url }) => url)], ["published", "forest", "Flowers from our own field.", ["https://shop.example.com/", "https://example.com/map", "https://example.com/hours"]]);
  assert.ok(whole.avatar.url.startsWith(edge.origin), whole.avatar.url);
  assert.ok(presses() <= 120, `${presses()} keys`);
  // A draft with a half typed address is refused.
  await assertQuiet(window, true);
});

test("holder makes, tests and deletes a webhook with keys alone", async () => {
  const key = await edge.issueKey({ biolink_plan: "business" });
  const window = await openWeb(browser, edge, key, "/developers/webhooks", { isKept: false });
  const { page } = window;
  const { press, push, type, reach } = keyboard(page);
  const button = (name, exact = true) => page.getByRole("button", { name, exact });
  const list = async () => (await callApi(edge, key, "GET", "/webhooks")).data;

  await push(button("New webhook").first());
  await type(page.getByLabel("Address of your server"), "https://hooks.example.com/crm");
  await push(page.getByRole("checkbox", { name: /^QR code scanned/ }), "Space");
  await type(page.getByLabel("Your note"), "CRM");
  await press("Enter");
  await page.getByRole("heading", { name: "The signing secret" }).waitFor();
  await push(button("I have kept it"));
  await page.getByRole("heading", { name: "CRM", level: 1 }).waitFor();
  const [made] = await list();
  assert.deepEqual([made.url, made.description, made.events.sort()], ["https://hooks.example.com/crm", "CRM", ["click", "page_published", "qr_scan"]]);

  await push(button("Send"));
  await page.getByRole("dialog").waitFor();
  assert.ok(await page.getByRole("dialog").evaluate((dialog) => dialog.contains(document.activeElement)));
  await press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.equal(await button("Send").evaluate((own) => own === document.activeElement), true, "the focus is back where it was");
  await push(page.getByRole("switch", { name: "Get events" }), "Space", "Shift+Tab");
  await page.getByText("The webhook is off.").waitFor();
  assert.equal((await list())[0].enabled, false);

  await push(button("More of this webhook"));
  // Keys that come before the menu has the focus are lost.
  await page.locator("[role=menuitem]:focus").waitFor();
  await press("End");
  await page.getByRole("menuitem", { name: "Delete webhook" }).and(page.locator(":focus")).waitFor();
  await press("Enter");
  await push(button("Delete webhook"));
  await page.getByRole("heading", { name: "Webhooks", level: 1 }).waitFor();
  assert.deepEqual(await list(), []);
  await reach(button("New webhook").first());
  await assertQuiet(window);
});

test("holder makes, narrows and ends a secret with keys alone", async () => {
  const key = await edge.issueKey({ biolink_plan: "business" });
  const window = await openWeb(browser, edge, key, "/developers/keys", { isKept: false });
  const { page } = window;
  const { press, push, type, reach } = keyboard(page);
  const button = (name, exact = true) => page.getByRole("button", { name, exact });
  const list = async () => (await callApi(edge, key, "GET", "/v1/keys/me/secrets")).secrets;

  await push(button("New secret").first());
  await type(page.getByLabel("What is it for?"), "Website");
  await reach(page.getByLabel("Pages, webhooks and analytics"));
  await page.keyboard.type("See");
  await push(page.getByLabel("Every tool, those to come too"), "Space");
  await push(button("Make secret"));
  await page.getByRole("heading", { name: "The secret “Website”" }).waitFor();
  await push(button("I have kept it"));
  await page.getByText(/^Calls every tool · sees pages/).waitFor();
  assert.deepEqual((await list()).map(({ name, scopes }) => [name, scopes.tools, scopes.biolink]), [["Website", ["all"], "read"]]);

  const more = async (...keys) => {
    await push(button("More of Website"));
    await page.getByRole("menuitem", { name: "End secret" }).waitFor();
    // The menu takes the focus after it is there.
    await page.locator("[role=menuitem]:focus").waitFor();
    await press(...keys);
  };
  await more("Home", "Enter");
  await push(page.getByLabel("Every tool, those to come too"), "Space");
  await push(button("Save"));
  await page.getByText("“Website” is changed.").waitFor();
  assert.deepEqual((await list())[0].scopes.tools, []);
  await more("End", "Enter");
  await push(button("End secret"));
  await page.getByText("“Website” is ended.").waitFor();
  assert.deepEqual(await list(), []);
  // Without a proxy the status, which lists the tools, cannot be read.
  await assertQuiet(window, true);
});
