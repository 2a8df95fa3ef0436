// The web app of the console as people use it, with the real worker behind it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { until } from "./parts/analytics.mjs";
import { findViolations } from "./parts/axe.mjs";
import { startChromium } from "./parts/chromium.mjs";
import { assertQuiet, callApi } from "./parts/console.mjs";
import { ADMIN_SECRET, startEdge } from "./parts/edge.mjs";
import { fillAccount } from "./parts/web_account.mjs";
import { readViews } from "./parts/views.mjs";
import { openWeb } from "./parts/web_window.mjs";

const PIXEL = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

let edge;
let web;
let browser;
let account;

before(async () => {
  [edge, browser] = await Promise.all([startEdge(), startChromium()]);
  web = edge;
  account = await fillAccount(web);
});
after(async () => {
  await Promise.all([browser?.close(), edge?.end()]);
});

const open = (...given) => openWeb(browser, web, ...given);

test("shop owner gets from nothing to a page and a QR code", async () => {
  const key = await web.issueKey({ biolink_plan: "business", name: "Lotte Brandt" });
  const window = await open(key);
  const { page } = window;
  let actions = 0;
  const act = (done) => { actions += 1; return done; };
  const click = (name, exact = true) => act(page.getByRole("button", { name, exact }).first().click());

  await act(page.getByRole("link", { name: "Make a page" }).click());
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
  // A draft with a half typed address is refused.
  await assertQuiet(window, true);
});

/** Saves what is typed at once, as Ctrl+S does. */
async function save(page) {
  await page.getByText("Edited, saved soon").waitFor();
  await page.keyboard.press("Control+s");
  await page.getByText("All changes saved").waitFor();
}

test("what is typed is saved, undone and kept from others", async () => {
  const { key, draft } = account;
  const window = await open(key, `/pages/${draft.id}`);
  const { page } = window;
  const read = () => callApi(web, key, "GET", `/pages/${draft.id}`);
  const title = page.getByLabel("Title", { exact: true });
  await title.fill("Weddings");
  await save(page);
  assert.equal((await read()).title, "Weddings");
  await page.getByRole("button", { name: "Undo" }).click();
  await save(page);
  assert.equal((await read()).title, "Wedding flowers");
  await title.fill("W");
  await title.fill("Wedding flowers");
  await page.getByText("All changes saved").waitFor();

  await callApi(web, key, "PATCH", `/pages/${draft.id}`, { bio: "by a program" });
  await title.fill("Mine");
  await page.keyboard.press("Control+s");
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
  await save(page);
  assert.deepEqual((await read()).links.map((link) => link.title), ["Ask us", "Ask for a date"]);

  await page.getByLabel("Address of Ask for a date").fill("javascript:alert(1)");
  await page.keyboard.press("Control+s");
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
    await page.waitForFunction(() => document.querySelector("main").innerText.includes("<x-web>") || [...document.querySelectorAll("input, textarea")].some(({ value }) => value.includes("<x-web>")));
    seen[view] = await page.evaluate(() => [...document.querySelectorAll("x-web, img[src='x'], [onerror]")].length + [...document.querySelectorAll("iframe")].reduce((sum, frame) => sum + (frame.contentDocument?.querySelectorAll("x-web, img[onerror]").length ?? 0), 0));
  }
  assert.deepEqual(Object.values(seen), Object.values(seen).map(() => 0), JSON.stringify(seen));
  await assertQuiet(window);
});

test("agency lists, finds and filters twenty pages", async () => {
  const key = await web.issueKey({ biolink_plan: "business", name: "Agency" });
  for (let nth = 1; nth <= 20; nth += 1) await callApi(web, key, "POST", "/pages", { title: `Client ${nth}`, slug: `client-${nth}-of`, status: nth % 4 ? "published" : "draft", tags: [nth % 2 ? "food" : "music"] });
  const window = await open(key, "/pages");
  const { page } = window;
  const titles = () => page.locator("main ul.list li a.entry .strong").allInnerTexts();
  const shows = (count) => page.waitForFunction((count) => document.querySelectorAll("main ul.list li a.entry").length === count, count);
  await shows(20);
  assert.deepEqual((await titles()).map((title) => Number(title.slice(7))).sort((one, other) => one - other), Array.from({ length: 20 }, (_, nth) => nth + 1));
  await page.getByRole("button", { name: "Drafts" }).click();
  await shows(5);
  assert.deepEqual((await titles()).sort(), ["Client 12", "Client 16", "Client 20", "Client 4", "Client 8"]);
  await page.reload();
  await shows(5);
  await page.getByLabel(/^Find pages/).fill("client 16");
  await shows(1);
  await page.getByRole("button", { name: "All", exact: true }).click();
  await page.getByLabel(/^Find pages/).fill("Client 7");
  await page.waitForFunction(() => [...document.querySelectorAll("main ul.list li a.entry .strong")].map(({ innerText }) => innerText).join() === "Client 7");
  await page.keyboard.press("Control+k");
  await page.locator(".palette-item").getByText("Client 13").waitFor();
  await page.waitForFunction(() => document.activeElement.matches(".palette-input"));
  await page.keyboard.type("Client 13");
  await page.locator(".palette-item[data-selected]").getByText("Client 13").waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Client 13", level: 1 }).waitFor();
  await assertQuiet(window);
});

test("every number of Analytics is the API's", async () => {
  const { key, page: shop } = account;
  const groups = ["link", "page", "channel", "source", "referrer", "utm_campaign", "utm_source", "utm_medium", "via", "country", "device", "browser", "os", "language"];
  const read = async (group = "channel") => callApi(web, key, "GET", `/analytics?interval=7d&timezone=UTC&limit=100&page_id=${shop.id}&group_by=${group}`);
  // All visits and clicks of the launch are counted.
  await until("the launch is counted", async () => (({ views, scans, clicks }) => views === 90 && scans === 10 && clicks === 45)((await read()).totals)).catch(async (error) => assert.fail(`${error.message}: ${JSON.stringify((await read()).totals)}`));
  const report = await read();
  for (const group of groups) report.groups[group] = (await read(group)).groups[group];
  const window = await open(key, `/analytics?interval=7d&zone=UTC&page=${shop.id}`);
  const { page } = window;
  const totals = page.getByLabel("Totals").locator(".stat");
  await totals.first().waitFor();
  const shown = Object.fromEntries(await totals.evaluateAll((list) => list.map((stat) => [stat.querySelector(".name").innerText, stat.querySelector(".value").innerText])));
  const { views, clicks, ctr } = report.totals;
  assert.equal(shown.Views, String(views), JSON.stringify(shown));
  assert.equal(shown.Clicks, String(clicks), JSON.stringify(shown));
  assert.equal(Number.parseFloat(shown["Click rate"]), Math.round(ctr * 1000) / 10, JSON.stringify(shown));
  let compared = 0;
  for (const card of await page.locator(".cards > section").all()) {
    for (const tab of await card.locator(".segments button").all()) {
      const asked = (await tab.getAttribute("aria-pressed")) === "true" ? null : page.waitForResponse((response) => response.url().includes("compare=previous_period"));
      await tab.click();
      await asked;
      await page.waitForFunction(() => !document.querySelector("[aria-busy=true]"));
      const name = await tab.innerText();
      const group = groupOf(await card.getAttribute("aria-label"), name);
      if (!group || !report.groups[group]) continue;
      const isClicks = group === "link";
      const expected = report.groups[group].map((row) => row[isClicks ? "clicks" : "views"]).filter(Boolean).sort((one, other) => other - one);
      await page.waitForFunction(([label, count]) => document.querySelectorAll(`section[aria-label="${label}"] ol .value`).length === count, [await card.getAttribute("aria-label"), expected.length]);
      const own = (await card.locator("ol .value").allInnerTexts()).map(Number).sort((one, other) => other - one);
      assert.deepEqual(own, expected, group);
      compared += own.length;
    }
  }
  assert.ok(compared > 20, `${compared} numbers compared`);
  await assertQuiet(window);

  const { via: named } = (await callApi(web, key, "GET", `/analytics?interval=30d&page_id=${shop.id}&group_by=via&metrics=views,clicks,scans`)).groups;
  const codes = await open(key, `/links/${shop.id}`);
  for (const [via, title] of [["flyer", "Flyer in May"], ["window", "Shop window"]]) {
    const card = codes.page.getByRole("article", { name: title });
    await card.waitFor();
    const numbers = await card.locator("dd").allInnerTexts();
    const row = named.find((row) => row.via === via);
    assert.deepEqual(numbers.map(Number), [row.views, row.scans, row.clicks], title);
    assert.equal(row.scans, via === "flyer" ? 10 : 0);
  }
  await assertQuiet(codes);
});

/** What a tab of a card groups by. */
function groupOf(card, tab) {
  const name = { "Where they came from": { Sources: "source", Sites: "referrer", Channels: "channel" }, Campaigns: { Campaigns: "utm_campaign", Sources: "utm_source", Media: "utm_medium", "Links and QR": "via" } }[card]?.[tab];
  return name ?? { Links: "link", Pages: "page", Countries: "country", Devices: "device", Browsers: "browser", Systems: "os", Languages: "language" }[tab];
}

test("holder connects an agent with the key and sees who asks", async () => {
  const text = "<x-web><img src=x onerror=alert(1)>";
  const key = await web.issueKey({ biolink_plan: "business", name: "Lotte Brandt" });
  const redirect = "https://agent.example/back";
  const registered = await fetch(`${web.origin}/oauth/register`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ client_name: text, redirect_uris: [redirect] }) });
  const { client_id } = await registered.json();
  const asked = new URLSearchParams({ response_type: "code", client_id, redirect_uri: redirect, code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256", state: "a state", scope: "tools:all biolink:read" });
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.route("https://agent.example/**", (route) => route.fulfill({ body: "connected" }));
  const address = `${web.origin}/oauth/authorize?${asked}`;

  await page.goto(address);
  await page.getByRole("heading", { name: "Connect" }).waitFor();
  const words = await page.locator("main").innerText();
  assert.ok(words.includes("agent.example") && words.includes("It has named itself"), words);
  assert.equal(await page.locator("x-web, img").count(), 0);
  assert.deepEqual(await check(page, page.url().slice(`${web.origin}/console`.length)), []);
  await page.getByLabel("Your API key").fill("utg_live_wrong");
  await page.getByRole("button", { name: "Connect" }).click();
  await page.getByRole("alert").waitFor();
  assert.ok(page.url().startsWith(web.origin), "nothing is left before the gateway agrees");
  await page.getByLabel("Your API key").fill(key);
  await page.getByLabel("Name in your list of keys").fill("Agent");
  await page.getByRole("button", { name: "Connect" }).click();
  await page.waitForURL(`${redirect}?**`);
  const back = new URL(page.url()).searchParams;
  assert.deepEqual([back.get("state"), back.has("code"), back.get("iss")], ["a state", true, web.origin]);
  const { secrets } = await callApi(web, key, "GET", "/v1/keys/me/secrets");
  const days = (Date.parse(secrets[0].expires_at) - Date.now()) / 86_400_000;
  assert.deepEqual([secrets[0].name, secrets[0].scopes, Math.round(days)], ["Agent", { tools: ["all"], biolink: "read", keys: false }, 90]);

  await callApi(web, key, "POST", "/v1/keys/me/secrets", { name: "Website", scopes: { tools: ["qr"] } });
  const holder = await open(key, "/developers/keys");
  const rows = holder.page.getByRole("region", { name: "Secrets" }).getByRole("listitem");
  await rows.filter({ hasText: "Website" }).waitFor();
  assert.deepEqual([await rows.filter({ hasText: "Connected agent" }).count(), await rows.filter({ hasText: /^\s*Agent\s*Connected agent/ }).count()], [1, 1]);
  await assertQuiet(holder);

  await page.goto(address);
  await page.getByRole("button", { name: "Refuse" }).click();
  await page.waitForURL(`${redirect}?**`);
  assert.deepEqual([new URL(page.url()).searchParams.get("error"), new URL(page.url()).searchParams.has("code")], ["access_denied", false]);
  await page.goto(`${web.origin}/console/connect?request=changed`);
  await page.getByRole("heading", { name: "has ended" }).waitFor();
  await context.close();
});

test("app takes no text for HTML but by the policy of the preview", async () => {
  const window = await open(account.key);
  const attempt = (make) => window.page.evaluate(make).then(() => "made", (error) => error.message.match(/Trusted\w+|policy/i)?.[0] ?? error.message);
  assert.match(await attempt(() => { document.querySelector("main").innerHTML = "<b>a</b>"; }), /^Trusted/);
  assert.match(await attempt(() => { document.body.insertAdjacentHTML("beforeend", "<b>a</b>"); }), /^Trusted/);
  assert.match(await attempt(() => { new DOMParser().parseFromString("<b>a</b>", "text/html"); }), /^Trusted/);
  assert.match(await attempt(() => { globalThis.trustedTypes.createPolicy("other", { createHTML: String }); }), /^policy/i);
  await window.close();
  const loose = await browser.newPage();
  await loose.route(/\/console\/$/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, headers: { ...response.headers(), "content-security-policy": response.headers()["content-security-policy"].replace(/; require-trusted.*/, "") } });
  });
  await loose.goto(`${web.origin}/console/`);
  assert.equal(await loose.evaluate(() => { document.body.innerHTML = "<b>a</b>"; return document.querySelectorAll("b").length; }), 1, "without the policy nothing refuses it");
  await loose.close();
});

/** Every view of the holder of a key and of an administrator, at its address. */
function views() {
  const { page, webhook, id } = account;
  const ids = { "/pages/*": page.id, "/links/*": page.id, "/developers/webhooks/*": webhook.id, "/admin/keys/*": id, "/admin/pages/*": page.id, "/admin/accounts/*": id };
  const { key, admin } = readViews(ids, "");
  const plain = (addresses) => addresses.filter((address) => !address.includes("?"));
  return { key: [...plain(key), "/analytics?interval=7d", "/nowhere"], admin: plain(admin) };
}

/** Parts of views that are there once something was done: the view, a name, and what is done. */
const OPENED = [
  ["/pages?new=1", "new page", async () => {}],
  ["/pages/{page}", "settings of a link", (page) => page.getByRole("button", { name: /^Settings of/ }).first().click()],
  ["/pages/{page}", "kinds of links", (page) => page.getByRole("button", { name: "Add", exact: true }).click()],
  ...["Look", "Shop", "More"].map((part) => ["/pages/{page}", part, (page) => page.getByRole("group", { name: "Parts of the page" }).getByRole("button", { name: part }).click()]),
  ["/pages/{page}", "versions", async (page) => {
    await page.getByRole("button", { name: "More of this page" }).click();
    await page.getByRole("menuitem", { name: "Versions" }).click();
    await page.getByRole("dialog").getByRole("listitem").getByRole("button").last().click();
  }],
  ["/pages/{page}", "menu", (page) => page.getByRole("button", { name: "More of this page" }).click()],
  ["/pages", "palette", async (page) => {
    await page.keyboard.press("Control+k");
    await page.locator(".palette-item").last().waitFor();
  }],
  ["/links/{page}", "design of a code", (page) => page.getByRole("button", { name: "Design" }).first().click()],
  ["/links/{page}", "new short link", (page) => page.getByRole("button", { name: "New short link" }).click()],
  ["/products", "new shop", (page) => page.getByRole("button", { name: "Connect a shop" }).first().click()],
  ["/domains", "new domain", (page) => page.getByRole("button", { name: "Add a domain" }).first().click()],
  ["/developers/keys", "new secret", (page) => page.getByRole("button", { name: "New secret" }).first().click()],
  ["/developers/webhooks", "new webhook", (page) => page.getByRole("button", { name: "New webhook" }).first().click()],
];

/** Widths that views fit; 640 is 1,280 at 200 %. */
const WIDTHS = [320, 640, 768, 1920];

test("views have no finding of axe, in light and dark at both widths", async () => {
  const found = [];
  const { key, admin } = views();
  for (const [secret, addresses] of [[account.key, key], [ADMIN_SECRET, admin]]) {
    const window = await open(secret);
    for (const view of addresses) found.push(...await check(window.page, view));
    await assertQuiet(window, true);
  }
  assert.deepEqual(found, []);
});

test("what opens in a view has no finding of axe, in light and dark at both widths", async () => {
  const found = [];
  for (const [view, name, act] of OPENED) {
    const window = await open(account.key, "/", { isKept: false });
    await visit(window.page, view.replace("{page}", account.page.id));
    await act(window.page);
    found.push(...await inspect(window.page, `${view}, ${name}`));
    await assertQuiet(window, true);
  }
  assert.deepEqual(found, []);
});

test("views fit texts in German, Arabic and Japanese", async () => {
  const key = await web.issueKey({ biolink_plan: "business", name: "Donaudampfschifffahrtsgesellschaftskapitänin" });
  const pages = [];
  for (const [locale, slug, word] of [["de", "kapitaenin", "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen"], ["ar", "katib", "مكتبة الكاتبات والكتّاب في المدينة القديمة قرب الميناء الجديد"], ["ja", "hanaya", "東京都渋谷区神宮前の季節の花屋と小さな喫茶室のご案内ページ"]]) {
    pages.push(await callApi(web, key, "POST", "/pages", { title: word, bio: `${word} ${word}`, slug, locale, status: "published", links: [{ title: word, url: "https://example.com/" }], codes: [{ via: "flyer", title: word }], tags: [word.slice(0, 32)] }));
  }
  const window = await open(key);
  const found = [];
  await callApi(web, key, "POST", "/webhooks", { url: "https://hooks.example.com/x", description: pages[0].title, events: ["click"] });
  await callApi(web, key, "POST", "/v1/keys/me/secrets", { name: pages[1].title, scopes: { biolink: "read" } });
  for (const view of [...views().key.filter((address) => !/\/\w+_/.test(address)), ...pages.flatMap(({ id }) => [`/pages/${id}`, `/links/${id}`])]) {
    await visit(window.page, view);
    found.push(...await tooWide(window.page, view, [360, ...WIDTHS]));
  }
  assert.deepEqual(found, []);
  await assertQuiet(window, true);
});

/** Returns what reaches the furthest beyond the window. */
function widest(page) {
  return page.evaluate(() => [...document.querySelectorAll("main *")].sort((one, other) => other.getBoundingClientRect().right - one.getBoundingClientRect().right)[0]?.outerHTML.slice(0, 120));
}

/** Returns at which widths a view is too wide. */
async function tooWide(page, view, widths) {
  const found = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 });
    // Charts follow the width in the next frame.
    const overflow = await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(document.documentElement.scrollWidth - document.documentElement.clientWidth)))));
    if (overflow > 0) found.push(`${view} is ${overflow} px too wide at ${width} px: ${await widest(page)}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  return found;
}

/** Goes to a view as its links do. */
async function visit(page, view) {
  await page.evaluate((address) => {
    const link = Object.assign(document.createElement("a"), { href: `/console${address}` });
    document.body.append(link);
    link.click();
    link.remove();
  }, view);
  await page.waitForURL((url) => url.pathname + url.search === `/console${view}`);
  await page.locator("main h1, main h2").first().waitFor();
  await page.waitForFunction(() => !document.querySelector("[aria-busy=true]"));
}

/** Returns what is wrong with a view. */
async function check(page, view) {
  await visit(page, view);
  return inspect(page, view);
}

/** Returns what is wrong with what is shown. */
async function inspect(page, view) {
  await page.waitForFunction(() => !document.querySelector("[aria-busy=true]"));
  const found = await tooWide(page, view, WIDTHS);
  for (const [width, colorScheme] of [[1280, "light"], [1280, "dark"], [360, "dark"], [360, "light"]]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    found.push(...await tooWide(page, view, [width]));
    await page.setViewportSize({ width, height: 800 });
    found.push(...(await findViolations(page)).map(([id, nodes]) => `${view} ${colorScheme} ${width} ${id}: ${nodes[0]}`));
  }
  return found;
}
