// Pages and product sources in the console: made, edited, published and restored as a person does it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startChromium } from "./parts/chromium.mjs";
import { assertQuiet, callApi, follow, goTo, openConsole, press, reach, signIn, takeKey } from "./parts/console.mjs";
import { startEdge } from "./parts/edge.mjs";
import { createPage } from "./parts/biolink.mjs";

const LINKS = ["News", "Talks", "Notes"].map((title) => ({ title, url: `https://example.com/${title.toLowerCase()}` }));
/** A picture of one pixel. */
const PIXEL = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

let edge;
let browser;

before(async () => {
  [edge, browser] = await Promise.all([startEdge(), startChromium()]);
});
after(() => Promise.all([browser?.close(), edge?.end()]));

const call = (...request) => callApi(edge, ...request);

/** Opens the form of a page of a key of its own. `read` reads what is stored of it. */
async function openForm(more) {
  const made = await createPage(edge, { title: "Ada", links: LINKS, ...more });
  const window = await openConsole(browser, edge, { viewport: { width: 1280, height: 1600 } });
  await signIn(window.page, made.key);
  await goTo(window.page, `/pages/${made.id}`);
  return { ...window, made, read: () => call(made.key, "GET", `/pages/${made.id}`) };
}

const links = (page) => page.locator("[data-list=links] > li");
const title = (page) => page.locator("[name=title]").first();
const titles = (page) => links(page).locator("[name=title]").evaluateAll((fields) => fields.map((field) => field.value));

/** Presses a button that saves, and waits for the response. */
async function save(page, name = "Save") {
  const sent = page.waitForResponse((response) => response.request().method() === "PUT");
  await page.getByRole("button", { name, exact: true }).click();
  const response = await sent;
  if (response.ok()) await page.getByText("Done.", { exact: true }).waitFor();
  return response.status();
}

test("page is made, edited with a live preview, and published", async () => {
  const key = await edge.issueKey({ biolink_plan: "business" });
  const window = await openConsole(browser, edge);
  const { page } = window;
  await signIn(page, key);
  await follow(page, "Pages");
  await page.getByText("No page here yet. Make one below.").waitFor();
  await page.getByLabel("Title").fill("Grace");
  await page.getByLabel("Name in the address").fill("grace");
  await page.getByRole("button", { name: "Make page" }).click();
  await page.locator("#view").getByRole("heading", { name: "Grace", level: 2 }).waitFor();
  const preview = page.frameLocator("iframe");
  await preview.getByRole("heading", { name: "Grace", exact: true }).waitFor();

  await title(page).fill("Grace Hopper");
  await preview.getByRole("heading", { name: "Grace Hopper" }).waitFor();
  await page.getByRole("button", { name: "Add a link" }).click();
  await links(page).locator("[name=title]").fill("Compilers");
  await page.getByText("The preview follows when all fields are right.").waitFor();
  await links(page).locator("[name=url]").fill("https://example.com/compilers");
  await preview.getByText("Compilers").waitFor();
  await page.getByText("Look", { exact: true }).click();
  await page.locator("[name='theme.preset']").selectOption("ocean");
  assert.equal(await save(page), 200);
  const id = new URL(page.url()).hash.split("/").at(-1);
  const read = () => call(key, "GET", `/pages/${id}`);
  const draft = await read();
  assert.deepEqual([draft.title, draft.status, draft.theme.preset, draft.links.map((link) => link.title)], ["Grace Hopper", "draft", "ocean", ["Compilers"]]);

  await page.locator("[name=bio]").fill("Admiral.");
  assert.equal(await save(page, "Save and publish"), 200);
  await page.locator("#page-facts .badge").getByText("published", { exact: true }).waitFor();
  const live = await read();
  assert.deepEqual([live.status, live.bio, live.links[0].id], ["published", "Admiral.", draft.links[0].id], "a link that was saved keeps its id");
  assert.match(await (await fetch(live.urls.public)).text(), /Grace Hopper.*Admiral\..*Compilers/s);
  await assertQuiet(window, true);
});

test("preview has the style of the page and runs nothing", async () => {
  const window = await openForm({ theme: { preset: "ocean", mode: "light" }, bio: "<script>alert(1)</script>" });
  const { page, made } = window;
  const preview = page.frameLocator("iframe");
  await preview.getByText("<script>alert(1)</script>").waitFor();
  const look = (body) => [getComputedStyle(body).backgroundColor, getComputedStyle(body.querySelector("a.link")).borderRadius, body.ownerDocument.compatMode];
  const shown = await preview.locator("body").evaluate(look);
  await call(made.key, "POST", `/pages/${made.id}/publish`);
  const visitor = await browser.newPage();
  await visitor.goto(made.urls.public);
  assert.deepEqual(shown, await visitor.locator("body").evaluate(look));
  await visitor.close();
  assert.equal(await preview.locator("a[href]").count(), 0, "links lead nowhere");
  await assertQuiet(window);
});

test("problems of the API are at their fields", async () => {
  const window = await openForm();
  const { page } = window;
  await links(page).nth(1).locator("[name=url]").fill("javascript:alert(1)");
  await page.locator("[name='theme.light.bg']").evaluate((field) => { field.value = "red"; });
  assert.equal(await save(page), 422);
  await page.getByRole("alert").getByRole("link", { name: "fields-invalid" }).waitFor();
  const invalid = page.locator("[aria-invalid=true]");
  assert.deepEqual(await invalid.evaluateAll((fields) => fields.map((field) => [field.name, document.getElementById(field.getAttribute("aria-describedby")).innerText !== ""])), [["url", true], ["theme.light.bg", true]]);
  assert.equal(await page.evaluate(() => document.activeElement.value), "javascript:alert(1)", "the first of them has the focus");
  assert.ok(await page.locator("[name='theme.light.bg']").isVisible(), "its section is open");
  await links(page).nth(1).locator("[name=url]").fill("https://example.com/");
  await page.locator("[name='theme.light.bg']").fill("");
  assert.equal(await save(page), 200);
  assert.equal(await invalid.count(), 0);
  await assertQuiet(window, true);
});

test("change by another is told, and what was typed stays", async () => {
  const window = await openForm();
  const { page, made, read } = window;
  await title(page).fill("Ada of the console");
  await call(made.key, "PATCH", `/pages/${made.id}`, { bio: "by a program" });
  assert.equal(await save(page), 412);
  await page.getByRole("alert").getByText("What you typed is still here.").waitFor();
  assert.equal(await title(page).inputValue(), "Ada of the console");
  assert.equal((await read()).title, "Ada");
  assert.equal(await save(page), 200);
  assert.equal((await read()).title, "Ada of the console");
  await assertQuiet(window, true);
});

test("links are ordered with buttons, which keep the focus, and with the pointer", async () => {
  const window = await openForm();
  const { page, made, read } = window;
  await links(page).nth(2).getByRole("button", { name: "Move up" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("Place 2 of 3.").waitFor();
  await page.keyboard.press("Enter");
  assert.deepEqual(await titles(page), ["Notes", "News", "Talks"]);

  const handle = await links(page).nth(0).locator(".handle").boundingBox();
  const last = await links(page).nth(2).boundingBox();
  await page.mouse.move(handle.x + 5, handle.y + 5);
  await page.mouse.down();
  await page.mouse.move(last.x + 20, last.y + last.height - 5, { steps: 8 });
  await page.mouse.up();
  assert.deepEqual(await titles(page), ["News", "Talks", "Notes"]);
  await links(page).nth(0).getByRole("button", { name: "Remove" }).click();
  assert.equal(await page.evaluate(() => document.activeElement.innerText), "Remove", "the next one's");
  assert.equal(await save(page), 200);
  const before = new Map(made.links.map((link) => [link.title, link.id]));
  assert.deepEqual((await read()).links.map((link) => link.id), ["Talks", "Notes"].map((title) => before.get(title)));
  await assertQuiet(window);
});

test("what the form does not show survives a change", async () => {
  const link = {
    ...LINKS[0], gate: { kind: "age", min: 18 }, rel: ["nofollow"], icon: "github", visible_until: "2030-12-31T23:59:59Z", utm: { source: "bio" },
    fallback: { url: "https://example.com/late" }, targets: [{ name: "app", countries: ["DE", "AT"], devices: ["ios"], url: "https://example.com/app" }],
  };
  const price = { amount: "18.00", currency: "EUR" };
  const window = await openForm({
    links: [link], metadata: { manager: "Charles" }, tags: ["science", "two words"], external_id: "client-17", locale: "en-GB", gate: { kind: "sensitive" },
    socials: [{ platform: "github", url: "https://github.com/ada" }], codes: [{ via: "flyer", title: "Flyers" }], utm: { medium: "bio" },
    seo: { description: "Everything", noindex: true }, theme: { preset: "paper", light: { accent: "#8a3f0f" }, shape: "pill" },
    products: { title: "Shop", layout: "list", items: [{ title: "Poster", url: "https://shop.example.com/poster", price }] },
  });
  const { page, made, read } = window;
  await page.locator("[name=bio]").fill("changed");
  assert.equal(await save(page), 200);
  const content = ({ title, links, metadata, tags, external_id, locale, gate, socials, codes, utm, seo, theme, products, avatar, cover, dir, slug }) =>
    ({ title, links, metadata, tags, external_id, locale, gate, socials, codes, utm, seo, theme, products, avatar, cover, dir, slug });
  assert.deepEqual(content(await read()), content(made));
  await assertQuiet(window);
});

test("notes by name are added, removed, and refused at their field", async () => {
  const window = await openForm({ metadata: { empty: "", manager: "Charles" } });
  const { page, read } = window;
  await page.getByText("Your own notes, which no visitor sees").click();
  const notes = page.locator("[data-list=metadata] > li");
  const field = (note, name) => notes.nth(note).getByLabel(name, { exact: true });
  assert.deepEqual([await field(1, "Name").inputValue(), await field(1, "Text").inputValue()], ["manager", "Charles"]);
  await page.getByRole("button", { name: "Add a note" }).click();
  await field(2, "Text").fill("7: second floor");
  assert.equal(await save(page), 422);
  const invalid = page.locator("[aria-invalid=true]");
  assert.deepEqual(await invalid.evaluateAll((fields) => fields.map((field) => [field.name, document.getElementById(field.getAttribute("aria-describedby")).innerText])), [["name", "must have names of 1 to 40 characters"]]);
  await field(2, "Name").fill("desk: no.");
  assert.equal(await save(page), 200);
  assert.deepEqual((await read()).metadata, { "desk: no.": "7: second floor", empty: "", manager: "Charles" });
  for (const _ of [1, 2, 3]) await notes.first().getByRole("button", { name: "Remove" }).click();
  assert.equal(await page.evaluate(() => document.activeElement.innerText), "Add a note");
  assert.equal(await save(page), 200);
  assert.deepEqual((await read()).metadata, {});
  await assertQuiet(window, true);
});

test("uploaded picture is in the page and in its preview", async () => {
  const window = await openForm();
  const { page, read } = window;
  await page.getByText("Picture and cover").click();
  const avatar = page.locator("fieldset[name=avatar]");
  await avatar.locator("[type=file]").setInputFiles({ name: "ada.png", mimeType: "image/png", buffer: PIXEL });
  await page.getByText("The picture is stored.").waitFor();
  await avatar.locator("[name='avatar.alt']").fill("Ada");
  const picture = page.frameLocator("iframe").getByRole("img", { name: "Ada" });
  await picture.waitFor();
  assert.equal(await picture.evaluate((image) => image.decode().then(() => image.naturalWidth)), 1);
  assert.equal(await save(page), 200);
  assert.match((await read()).avatar.url, /\/i\/img_\w+$/);
  await assertQuiet(window, true);
});

test("what is not saved is asked about before a link leads away", async () => {
  const window = await openForm();
  const { page } = window;
  await title(page).fill("Not saved");
  await page.locator("#menu").getByRole("link", { name: "Usage", exact: true }).click();
  await page.locator("#ask").getByRole("button", { name: "No" }).click();
  assert.equal(await title(page).inputValue(), "Not saved");
  await page.locator("#menu").getByRole("link", { name: "Usage", exact: true }).click();
  await page.locator("#ask").getByRole("button", { name: "Yes" }).click();
  await page.locator("#view").getByRole("heading", { name: "Usage", exact: true }).waitFor();
  await assertQuiet(window);
});

test("revision is restored", async () => {
  const window = await openForm();
  const { page, made, read } = window;
  await title(page).fill("Ada the second");
  assert.equal(await save(page), 200);
  await page.getByRole("link", { name: "Revisions" }).click();
  const first = page.getByRole("region", { name: "Revisions, the newest first" }).locator("tbody tr").last();
  await first.getByRole("button", { name: "Restore" }).click();
  await page.locator("#ask").getByRole("button", { name: "Yes" }).click();
  await page.locator("#view").getByRole("heading", { name: "Ada", exact: true }).waitFor();
  assert.deepEqual([(await read()).title, page.url().endsWith(`#/pages/${made.id}`)], ["Ada", true]);
  await assertQuiet(window);
});

test("page is taken offline and deleted", async () => {
  const window = await openForm({ status: "published" });
  const { page, made } = window;
  await press(page, "Take offline");
  await page.locator("#page-facts").getByText("unpublished", { exact: true }).waitFor();
  await press(page, "Delete");
  await page.locator("#view").getByRole("heading", { name: "Pages", exact: true }).waitFor();
  const response = await fetch(`${edge.origin}/pages/${made.id}`, { headers: { "x-api-key": made.key } });
  assert.equal(response.status, 404);
  await assertQuiet(window);
});

test("product source is added, changed, synced and deleted", async () => {
  const window = await openForm();
  const { page, made } = window;
  const read = async () => (await call(made.key, "GET", `/pages/${made.id}/product-sources`)).data;
  await page.getByRole("link", { name: "Product sources" }).click();
  await page.getByText("None yet.").waitFor();
  await page.locator("[name=url]").fill("shop");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("[name=url][aria-invalid]").waitFor();
  await page.locator("[name=url]").fill("https://shop.example.com/feed.xml");
  await page.getByText("Settings", { exact: true }).click();
  await page.locator("[name=max_items]").fill("12");
  await page.getByLabel("Tags").fill("gifts, books");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("#view").getByRole("heading", { name: "Product source", exact: true }).waitFor();
  const [added] = await read();
  assert.deepEqual([added.url, added.max_items, added.filter.tags, added.push.enabled], ["https://shop.example.com/feed.xml", 12, ["gifts", "books"], false]);

  await page.getByText("Settings", { exact: true }).last().click();
  await page.getByLabel("The shop may push changes").check();
  await page.getByRole("button", { name: "Save" }).click();
  const secret = await takeKey(page);
  assert.match(secret, /^whsec_/);
  await page.locator("#source").getByText("/hooks/products/").waitFor();
  const synced = page.waitForResponse((response) => response.url().endsWith("/refresh"));
  await page.getByRole("button", { name: "Sync now" }).click();
  assert.ok([202, 429].includes((await synced).status()));
  await page.getByRole("link", { name: "Log" }).click();
  await page.locator("#view").getByRole("heading", { name: "Log of the product source" }).waitFor();
  await page.getByRole("link", { name: "The source" }).click();
  await press(page, "Delete");
  await page.getByText("None yet.").waitFor();
  assert.deepEqual(await read(), []);
  await assertQuiet(window, true);
});

/** The figure of the console: a person without the documents does it in three minutes, and this test with the same keys. */
test("page, webhook and second secret are made with the keyboard alone", async () => {
  const key = await edge.issueKey({ biolink_plan: "business" });
  const window = await openConsole(browser, edge);
  const { page } = window;
  const type = async (label, text) => {
    await reach(page, label);
    await page.keyboard.insertText(text);
  };
  const activate = async (name) => {
    await reach(page, name);
    await page.keyboard.press("Enter");
  };
  const heading = (name) => page.locator("#view").getByRole("heading", { name, exact: true, level: 2 }).waitFor();
  const begun = Date.now();
  await type("API key", key);
  await page.keyboard.press("Enter");
  await heading("Usage");

  await activate("Pages");
  await heading("Pages");
  await type("Title", "Ada");
  await type("Name in the address", "ada-of-keys");
  await page.keyboard.press("Enter");
  await heading("Ada");
  await activate("Add a link");
  await type("Title", "News");
  await type("Address", "https://example.com/news");
  await activate("Save and publish");
  await page.locator("#page-facts .badge").getByText("published", { exact: true }).waitFor();
  assert.match(await (await fetch(`${edge.origin}/ada-of-keys`)).text(), /Ada.*News/s);

  await activate("Webhooks");
  await heading("Webhooks");
  await type("Address of your receiver", "https://hooks.example.com/crm");
  await reach(page, "click");
  await page.keyboard.press("Space");
  await activate("Make webhook");
  await page.locator("#reveal[open]").waitFor();
  assert.match(await page.locator("#reveal code").innerText(), /^whsec_/);
  await activate("Done");
  await page.getByText("Done.", { exact: true }).waitFor();

  await activate("Secrets");
  await heading("Secrets");
  await type("Name", "Build server");
  await reach(page, "all");
  await page.keyboard.press("Space");
  await activate("Make secret");
  await page.locator("#reveal[open]").waitFor();
  const secret = await page.locator("#reveal code").innerText();
  await activate("Done");
  await page.getByText("Done.", { exact: true }).waitFor();
  assert.ok(Date.now() - begun < 180_000, "in three minutes");
  assert.equal((await fetch(`${edge.origin}/v1/keys/me`, { headers: { "x-api-key": secret } })).status, 200);
  assert.deepEqual((await call(key, "GET", "/webhooks")).data.map((webhook) => webhook.events), [["click"]]);
  await assertQuiet(window, true);
});
