// What holders and operators see to in the web app: keys, sessions, limits, moderation, incidents.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startChromium } from "./parts/chromium.mjs";
import { assertQuiet, callApi } from "./parts/console.mjs";
import { ADMIN_SECRET, startEdge } from "./parts/edge.mjs";
import { startGateway } from "./parts/gateway.mjs";
import { openWeb } from "./parts/web_window.mjs";

let edge;
let web;
let browser;

before(async () => {
  [edge, browser] = await Promise.all([startEdge(), startChromium()]);
  web = edge;
});
after(async () => {
  await Promise.all([browser?.close(), edge?.end()]);
});

/** Sends a request as the operator. */
async function administer(method, path, body) {
  const headers = { authorization: `Bearer ${ADMIN_SECRET}`, "content-type": "application/json" };
  const response = await fetch(web.origin + path, { method, headers, body: body && JSON.stringify(body) });
  assert.ok(response.ok, `${method} ${path}: ${response.status}`);
  return response.status === 204 ? null : response.json();
}

test("holder sees the browsers that are signed in and signs one out", async () => {
  const key = await web.issueKey({ biolink_plan: "business" });
  const [own, other] = [await openWeb(browser, web, key, "/settings"), await openWeb(browser, web, key, "/settings")];
  const rows = own.page.getByRole("region", { name: "Signed-in browsers" }).getByRole("listitem");
  await own.page.reload();
  await own.page.getByText("This browser", { exact: true }).waitFor();
  assert.equal(await rows.count(), 2);
  await own.page.getByRole("button", { name: /^Sign out (?!everywhere)/ }).click();
  await own.page.waitForFunction(() => document.querySelectorAll("section[aria-labelledby=browsers] li").length === 1);
  await other.page.reload();
  await other.page.getByRole("heading", { name: "Sign in" }).waitFor();
  await own.page.getByRole("button", { name: "Sign out everywhere" }).click();
  await own.page.getByRole("dialog").getByRole("button", { name: "Sign out everywhere" }).click();
  await own.page.getByRole("heading", { name: "Sign in" }).waitFor();
  await other.close();
  await assertQuiet(own, true);
});

test("operator issues a key with limits of its own, changes and replaces it", async () => {
  const window = await openWeb(browser, web, ADMIN_SECRET, "/admin/keys");
  const { page } = window;
  await page.getByRole("button", { name: "Issue a key" }).first().click();
  await page.getByLabel("Name", { exact: true }).fill("Grace Hopper");
  await page.getByLabel("E-mail", { exact: true }).fill("grace@example.com");
  await page.getByText("Limits of its own").click();
  await page.getByLabel("Calls a minute").fill("50");
  await page.getByLabel("Units a month").fill("9000");
  await page.evaluate(() => {
    const { fetch } = globalThis;
    globalThis.sent = [];
    globalThis.fetch = async (request, options) => {
      if (request instanceof Request) globalThis.sent.push(await request.clone().text());
      return fetch(request, options);
    };
  });
  await page.getByRole("button", { name: "Issue", exact: true }).click();
  const key = await page.locator("code.secret").innerText();
  const bodies = (await page.evaluate(() => globalThis.sent)).join("\n");
  assert.match(bodies, /Grace Hopper/);
  assert.ok(!bodies.includes(ADMIN_SECRET), "the secret is in a header alone");
  await page.getByRole("button", { name: "I have kept it" }).click();
  await page.getByLabel("Order").selectOption({ label: "Name, Z to A" });
  await page.getByLabel("State").selectOption({ label: "Active" });
  await page.getByRole("link", { name: /^Grace Hopper/ }).click();
  await page.getByRole("heading", { name: "Grace Hopper", level: 1 }).waitFor();
  const read = () => callApi(web, key, "GET", "/v1/keys/me");
  const { limits } = await read();
  assert.deepEqual([limits.minute, limits.units], [50, { minute: null, day: null, month: 9000 }]);

  const units = page.getByLabel("Units a month");
  assert.equal(await units.inputValue(), "9000");
  await units.fill("");
  await page.getByLabel("Units a day").fill("700");
  await page.getByRole("button", { name: "Change limits" }).click();
  await page.getByText("The limits are changed.").waitFor();
  const changed = (await read()).limits;
  assert.deepEqual([changed.minute, changed.units], [50, { minute: null, day: 700, month: null }]);
  await page.getByLabel("When its usage cannot be counted").selectOption("refuse");
  await page.getByText("That is changed.").waitFor();
  assert.equal((await read()).when_meter_unreachable, "refuse");

  await page.getByRole("button", { name: "New key" }).click();
  await page.getByLabel("The old one works").selectOption({ label: "Not at all" });
  await page.getByRole("button", { name: "Make a new one" }).click();
  const next = await page.locator("code.secret").innerText();
  await page.getByRole("button", { name: "I have kept it" }).click();
  const status = async (secret) => (await fetch(`${web.origin}/v1/keys/me`, { headers: { "x-api-key": secret } })).status;
  assert.deepEqual([await status(key), await status(next)], [401, 200]);
  await assertQuiet(window);
});

test("operator suspends a reported page and its account with a reason, and restores them", async () => {
  const key = await web.issueKey({ biolink_plan: "business", name: "Mallory" });
  const made = await callApi(web, key, "POST", "/pages", { title: "Free money", slug: "free.money", status: "published" });
  const body = new URLSearchParams({ reason: "phishing", details: "It asks for my PIN." });
  const reported = await fetch(`${made.urls.public}/report`, { method: "POST", body, headers: { origin: new URL(made.urls.public).origin } });
  assert.ok(reported.ok, `${reported.status}`);
  const window = await openWeb(browser, web, ADMIN_SECRET, "/admin/reports");
  const { page } = window;
  await page.getByText("It asks for my PIN.").waitFor();
  await page.getByLabel("Page", { exact: true }).fill("free.money");
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("heading", { name: "Free money", level: 1 }).waitFor();
  const visit = async () => (await fetch(made.urls.public)).status;
  const path = `/admin/pages/${made.id}`;
  await page.getByLabel("Why").fill("phishing, reported twice");
  await page.getByRole("button", { name: "Suspend this page" }).click();
  await page.getByText("phishing, reported twice").waitFor();
  assert.equal((await administer("GET", path)).suspension.reason, "phishing, reported twice");
  assert.notEqual(await visit(), 200);
  await page.getByRole("button", { name: "Restore this page" }).click();
  await page.getByLabel("Why").waitFor();
  assert.equal((await administer("GET", path)).suspension, null);

  await page.getByRole("link", { name: "All of its pages" }).click();
  await page.getByRole("link", { name: /^Free money/ }).waitFor();
  await page.getByRole("button", { name: "Suspend this account" }).click();
  await page.getByRole("button", { name: "Restore this account" }).waitFor();
  assert.equal((await administer("GET", path)).suspended, true);
  await page.getByRole("button", { name: "Restore this account" }).click();
  await page.getByRole("button", { name: "Suspend this account" }).waitFor();
  assert.equal((await administer("GET", path)).suspended, false);

  await page.goto(`${web.origin}/console/admin/hosts`);
  await page.getByLabel("API key").fill(ADMIN_SECRET);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByLabel("Hosts").fill("phishing.example.net");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("The list has 1 host.").waitFor();
  assert.deepEqual((await administer("GET", "/admin/denied-hosts")).hosts, ["phishing.example.net"]);
  await administer("PUT", "/admin/denied-hosts", { hosts: [] });
  await assertQuiet(window);
});

test("operator publishes an incident in any state and resolves it", async () => {
  const window = await openWeb(browser, web, ADMIN_SECRET, "/admin/incidents");
  const { page } = window;
  await page.getByRole("button", { name: "New incident" }).click();
  await page.getByLabel("Title").fill("QR codes are slow");
  await page.getByLabel("State").selectOption("identified");
  await page.getByLabel("What people should know").fill("A disk is full.");
  await page.getByRole("button", { name: "Publish" }).click();
  const incident = page.getByRole("article", { name: "QR codes are slow" });
  await incident.waitFor();
  const [stored] = (await administer("GET", "/v1/status/incidents")).incidents;
  assert.deepEqual([stored.state, stored.updates[0].message], ["identified", "A disk is full."]);
  await incident.getByRole("button", { name: "Update" }).click();
  await page.getByLabel("What people should know").fill("It has space again.");
  await page.getByRole("button", { name: "Publish" }).click();
  await incident.getByText("It has space again.").waitFor();
  assert.equal((await administer("GET", "/v1/status/incidents")).incidents[0].state, "resolved");
  // Without a proxy the status cannot be read.
  await assertQuiet(window, true);
});

test("operator sorts the keys in every order", async () => {
  const names = ["Zuse", "ada", "Mary", "Grace"];
  for (const name of names) await web.issueKey({ name: `${name} Sorted`, email: `${name.length}${name.toLowerCase()}@sorted.example.com` });
  const window = await openWeb(browser, web, ADMIN_SECRET, "/admin/keys?q=Sorted");
  const { page } = window;
  const rows = page.locator("main ul.list li a.entry .strong");
  const orders = {
    "Newest first": ["Grace", "Mary", "ada", "Zuse"], "Oldest first": ["Zuse", "ada", "Mary", "Grace"], "Name, A to Z": ["ada", "Grace", "Mary", "Zuse"],
    "Name, Z to A": ["Zuse", "Mary", "Grace", "ada"], "E-mail, A to Z": ["ada", "Mary", "Zuse", "Grace"], "E-mail, Z to A": ["Grace", "Zuse", "Mary", "ada"],
  };
  const offered = await page.getByLabel("Order").locator("option").allInnerTexts();
  assert.deepEqual(offered, Object.keys(orders));
  for (const [order, expected] of Object.entries(orders)) {
    await page.getByLabel("Order").selectOption({ label: order });
    const shown = expected.map((name) => `${name} Sorted`).join();
    await page.waitForFunction((shown) => [...document.querySelectorAll("main ul.list li a.entry .strong")].map(({ innerText }) => innerText).join() === shown, shown)
      .catch(async () => assert.fail(`${order}: ${await rows.allInnerTexts()}`));
  }
  await page.reload();
  await page.getByLabel("API key").fill(ADMIN_SECRET);
  await page.getByRole("button", { name: "Sign in" }).click();
  await rows.nth(3).waitFor();
  assert.equal((await rows.allInnerTexts())[0], "Grace Sorted", "the address has the order");
  await assertQuiet(window);
});

test("tools show their availability as it changes", async () => {
  const gateway = await startGateway();
  try {
    const window = await openWeb(browser, gateway, gateway.key, "/developers/tools");
    const { page } = window;
    const tool = (name, state) => page.getByRole("listitem").filter({ hasText: new RegExp(`^\\s*${name}\\s*${state}\\s*$`) });
    await tool("Idea", "Available").waitFor();
    assert.equal(await page.locator("main li").count(), 17);
    await gateway.control("idea", "stop");
    await tool("Idea", "Not available").waitFor();
    await tool("QR", "Available").waitFor();
    await page.getByText("Idea: not available at the moment.").waitFor();
    await gateway.control("idea", "start");
    await tool("Idea", "Available").waitFor();
    await assertQuiet(window);
  } finally {
    await gateway.end();
  }
});

test("holder connects a domain once its record is seen, and removes it", async () => {
  const gateway = await startGateway("edge-with-domains");
  try {
    const key = await gateway.issueKey({ biolink_plan: "business" });
    await callApi(gateway, key, "POST", "/pages", { title: "Blumen Lotte", slug: "blumen-own", status: "published" });
    const window = await openWeb(browser, gateway, key, "/domains");
    const { page } = window;
    await page.getByRole("button", { name: "Add a domain" }).first().click();
    await page.getByLabel("Domain", { exact: true }).fill("https://links.lotte.example/");
    await page.getByLabel("Page", { exact: true }).selectOption({ label: "Blumen Lotte" });
    await page.getByRole("button", { name: "Add", exact: true }).click();
    const card = page.getByRole("article", { name: "links.lotte.example" });
    await card.getByText("Waiting for records").waitFor();
    const { dns } = (await callApi(gateway, key, "GET", "/domains")).data[0];
    assert.deepEqual(await card.locator("code").allInnerTexts(), dns.flatMap(({ name, value }) => [name, value]));
    await card.getByRole("button", { name: "Check now" }).click();
    await card.getByText("The record is not there yet.").waitFor();
    await gateway.setRecord(dns[0]);
    await card.getByRole("button", { name: "Check now" }).click();
    await card.getByText("Connected", { exact: true }).waitFor();
    assert.equal(await card.getByRole("link", { name: "links.lotte.example" }).getAttribute("href"), "https://links.lotte.example");
    await card.getByRole("button", { name: "Remove links.lotte.example" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove domain" }).click();
    await page.getByText("Use a name of your own").waitFor();
    assert.deepEqual((await callApi(gateway, key, "GET", "/domains")).data, []);
    await assertQuiet(window);
  } finally {
    await gateway.end();
  }
});

test("holder reads alerts, calls by reason and what each secret used", async () => {
  const key = await web.issueKey({ biolink_plan: "business", limits: { day: 2 } });
  const named = await callApi(web, key, "POST", "/v1/keys/me/secrets", { name: "Website", scopes: { tools: ["qr"], keys: true } });
  for (const secret of [key, named.key, key, key]) await fetch(`${web.origin}/v1/qr/generate`, { method: "POST", headers: { "x-api-key": secret, "content-type": "application/json" }, body: "{}" });
  const window = await openWeb(browser, web, key, "/developers/alerts");
  const { page } = window;
  await page.getByText(/% of the day’s calls were used|the day’s calls were used up/).first().waitFor();
  await page.goto(`${web.origin}/console/developers/keys`);
  await page.getByText("2 calls a day").waitFor();
  await page.getByText(named.id).waitFor();
  await assertQuiet(window, true);
});

test("holder changes every setting of a shop and disconnects it with its products kept", async () => {
  const key = await web.issueKey({ biolink_plan: "business" });
  const made = await callApi(web, key, "POST", "/pages", { title: "Shop", slug: "shop-settings" });
  const window = await openWeb(browser, web, key, "/products", { isKept: false });
  const { page } = window;
  const field = (name) => page.getByLabel(name, { exact: true });
  await page.getByRole("button", { name: "Connect a shop" }).first().click();
  await field("Address of the feed").fill("https://shop.example.com/merchant.xml");
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  const card = page.getByRole("article", { name: "shop.example.com/merchant.xml" });
  await card.waitFor();
  const sources = `/pages/${made.id}/product-sources`;
  const read = async () => (await callApi(web, key, "GET", sources)).data[0];
  await card.getByRole("button", { name: /^More of/ }).click();
  await page.getByRole("menuitem", { name: "Settings" }).click();
  await field("Kind").selectOption("merchant_xml");
  await field("Currency").fill("eur");
  await field("How it writes numbers").selectOption("comma");
  await field("Address of the shop").fill("https://www.shop.example.com/");
  await field("Products at most").fill("9");
  await field("Order").selectOption("-price");
  await field("Costs at least").fill("9,90");
  await field("Only with one of these tags or categories").fill("Tea, Cups");
  await field("In stock").check();
  await page.getByLabel(/^The shop tells us of changes/).check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Secret of the shop" }).waitFor();
  assert.match(await page.locator("code.secret").innerText(), /^whsec_/);
  await page.getByRole("button", { name: "I have kept it" }).click();
  const { format, currency, number_format, store_url, max_items, sort, filter, push } = await read();
  assert.deepEqual(
    { format, currency, number_format, store_url, max_items, sort, filter, isOn: push.enabled },
    {
      format: "merchant_xml", currency: "EUR", number_format: "comma", store_url: "https://www.shop.example.com/", max_items: 9, sort: "-price", isOn: true,
      filter: { tags: ["tea", "cups"], availability: ["in_stock"], min_price: "9.90", max_price: null },
    },
  );
  await card.getByText(push.url).waitFor();
  await card.getByRole("button", { name: /^More of/ }).click();
  const removed = page.waitForRequest((request) => request.method() === "DELETE");
  await page.getByRole("menuitem", { name: "Disconnect, keep products" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
  assert.match((await removed).url(), /keep_products=true/);
  await page.getByText("The shop is disconnected.").waitFor();
  assert.equal(await read(), undefined);
  await assertQuiet(window);
});

test("holder takes a header of a webhook away and sends all of its events again", async () => {
  const key = await web.issueKey({ biolink_plan: "business" });
  const webhook = await callApi(web, key, "POST", "/webhooks", { url: "https://hooks.example.com/x", description: "CRM", events: ["click"], headers: { authorization: "Bearer a", "x-team": "b" } });
  const window = await openWeb(browser, web, key, `/developers/webhooks/${webhook.id}`, { isKept: false });
  const { page } = window;
  const more = async (name) => {
    await page.getByRole("button", { name: "More of this webhook" }).click();
    await page.getByRole("menuitem", { name }).click();
  };
  await more("Change");
  await page.getByText("More", { exact: true }).click();
  await page.getByLabel("Headers of its own").fill("x-team:");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("The webhook is changed.").waitFor();
  assert.deepEqual((await callApi(web, key, "GET", `/webhooks/${webhook.id}`)).header_names, ["authorization"]);
  await more("Send again…");
  await page.getByLabel("Which", { exact: true }).selectOption("all");
  await page.getByRole("dialog").getByRole("button", { name: "Send again" }).click();
  await page.getByText("0 deliveries are sent again.").waitFor();
  await more("New signing secret");
  await page.getByLabel("The old one works").selectOption({ label: "Not at all" });
  await page.getByRole("button", { name: "Make a new one" }).click();
  const shown = await page.locator("code.secret").innerText();
  assert.equal((await callApi(web, key, "GET", `/webhooks/${webhook.id}/secret`)).secret, shown);
  await page.getByRole("button", { name: "I have kept it" }).click();
  await assertQuiet(window);
});

test("every part of a link, a product and a page can be edited", async () => {
  const key = await web.issueKey({ biolink_plan: "business" });
  const made = await callApi(web, key, "POST", "/pages", {
    title: "All", links: [{ title: "App", url: "https://example.com/app" }], metadata: { manager: "Charles" },
    products: { items: [{ title: "Tea", url: "https://example.com/tea", price: { amount: "9.00", currency: "EUR" }, sale_price: { amount: "7.00", currency: "EUR" } }] },
  });
  const window = await openWeb(browser, web, key, `/pages/${made.id}`);
  const { page } = window;
  const field = (name) => page.getByLabel(name, { exact: true });
  await page.getByRole("button", { name: "Settings of App" }).click();
  await page.getByRole("button", { name: "Lead some visitors elsewhere" }).click();
  await field("Where it leads them").fill("https://example.com/de");
  await field("In countries").fill("de, AT");
  await field("iPhone and iPad").check();
  await field("Its name in reports").fill("german");
  await page.getByText("Campaign and search engines").click();
  await field("Source").fill("bio");
  await field("An advertisement").check();
  await page.getByRole("button", { name: "Shop", exact: true }).click();
  await page.getByRole("button", { name: /^Tea/ }).click();
  await field("Description").fill("Loose leaf");
  await field("On sale until").fill("2031-01-01T10:00");
  await field("Number in your shop").fill("sku-7");
  await page.getByRole("button", { name: "More", exact: true }).click();
  await field("Note manager").fill("Ada");
  await page.getByRole("button", { name: "Add a note" }).click();
  await field("Name of the note").last().fill("city");
  await field("Name of the note").last().blur();
  await field("Note city").fill("London");
  await page.keyboard.press("Control+s");
  await page.getByText("All changes saved").waitFor();
  const { links: [link], products: { items: [product] }, metadata } = await callApi(web, key, "GET", `/pages/${made.id}`);
  assert.deepEqual(link.targets, [{ name: "german", countries: ["DE", "AT"], devices: ["ios"], languages: [], url: "https://example.com/de" }]);
  assert.deepEqual([link.utm.source, link.rel], ["bio", ["sponsored"]]);
  assert.deepEqual([product.description, product.external_id, product.sale_until.slice(0, 10)], ["Loose leaf", "sku-7", "2031-01-01"]);
  assert.deepEqual(metadata, { manager: "Ada", city: "London" });
  await assertQuiet(window, true);
});
