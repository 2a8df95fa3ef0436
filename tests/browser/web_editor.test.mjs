// What the editor of a page must not lose: what is typed, what it does not show, and what was there before.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until } from "./parts/analytics.mjs";
import { startChromium } from "./parts/chromium.mjs";
import { assertQuiet, callApi } from "./parts/console.mjs";
import { startEdge } from "./parts/edge.mjs";
import { openWeb } from "./parts/web_window.mjs";

let edge;
let browser;

before(async () => {
  [edge, browser] = await Promise.all([startEdge(), startChromium()]);
});
after(() => Promise.all([browser?.close(), edge?.end()]));

/** Opens the editor of a new page. */
async function openEditor(body) {
  const key = await edge.issueKey({ biolink_plan: "business" });
  const made = await callApi(edge, key, "POST", "/pages", { title: "Ada", ...body });
  const window = await openWeb(browser, edge, key, `/pages/${made.id}`);
  return { ...window, key, made, read: () => callApi(edge, key, "GET", `/pages/${made.id}`), title: window.page.getByLabel("Title", { exact: true }) };
}

test("version before is shown, restored and undone", async () => {
  const window = await openEditor({ status: "published", bio: "the first", slug: "ada-versions" });
  const { page, made, read, title } = window;
  await title.fill("Ada the second");
  await page.keyboard.press("Control+s");
  await page.getByText("All changes saved").waitFor();
  await page.getByRole("button", { name: "More of this page" }).click();
  await page.getByRole("menuitem", { name: "Versions" }).click();
  const versions = page.getByRole("dialog").getByRole("listitem").getByRole("button");
  await versions.nth(1).click();
  await page.getByRole("dialog").getByText("The title changed").waitFor();
  await page.frameLocator("dialog iframe").getByRole("heading", { name: "Ada", exact: true }).waitFor();
  assert.equal((await read()).title, "Ada the second", "a look changes nothing");
  await page.getByRole("button", { name: "Restore this version" }).click();
  await page.getByText("The version is back.").waitFor();
  assert.deepEqual([(await read()).title, await title.inputValue()], ["Ada", "Ada"]);
  await page.getByRole("button", { name: "Undo" }).first().click();
  await page.keyboard.press("Control+s");
  await page.getByText("All changes saved").waitFor();
  assert.equal((await read()).title, "Ada the second");
  assert.match(await (await fetch(made.urls.public)).text(), /<h1[^>]*>Ada<\/h1>/, "visitors see what is published");
  await assertQuiet(window);
});

test("version says which secret made and published it", async () => {
  const window = await openEditor({ status: "published" });
  const { page, made, key } = window;
  const named = await callApi(edge, key, "POST", "/v1/keys/me/secrets", { name: "Build server", scopes: { biolink: "write" } });
  await callApi(edge, named.key, "PATCH", `/pages/${made.id}`, { title: "Ada by a program", status: "published" });
  const { data } = await callApi(edge, key, "GET", `/pages/${made.id}/revisions`);
  assert.deepEqual(data.map(({ revision, secret_id, published_secret_id }) => [revision, secret_id, published_secret_id]), [[2, named.id, named.id], [1, null, null]]);
  assert.ok(data.every(({ published_at }) => Date.parse(published_at) > 0), JSON.stringify(data));
  const versions = async () => {
    await page.reload();
    await page.getByRole("button", { name: "More of this page" }).click();
    await page.getByRole("menuitem", { name: "Versions" }).click();
    const entries = page.getByRole("dialog").getByRole("listitem");
    await entries.nth(0).getByText(/, by /).first().waitFor();
    return entries.allInnerTexts();
  };
  const shown = await versions();
  assert.match(shown[0], /Saved .*, by Build server\s+Published .*, by Build server/);
  assert.match(shown[1], /Saved .*\s+Published /);
  assert.doesNotMatch(shown[1], /, by /);
  await callApi(edge, key, "DELETE", `/v1/keys/me/secrets/${named.id}`).catch(() => undefined);
  await until("the secret is ended", async () => !(await callApi(edge, key, "GET", "/v1/keys/me/secrets")).secrets.some(({ id }) => id === named.id));
  assert.match((await versions())[0], /, by a secret that is ended/);
  await assertQuiet(window);
});

test("preview has a mark in place of a picture of another host", async () => {
  const key = await edge.issueKey({ biolink_plan: "business" });
  const items = [{ title: "Vase", url: "https://shop.example.com/vase", image: { url: "https://images.example.com/vase.png" } }];
  const { id } = await callApi(edge, key, "POST", "/pages", { title: "Shop", slug: "shop-preview", products: { items } });
  const window = await openWeb(browser, edge, key, `/pages/${id}`);
  // Asked from outside, as the frame runs no script.
  await window.page.waitForFunction(() => {
    const frame = document.querySelector("iframe[title='Preview of Shop']");
    const image = frame?.contentDocument?.querySelector(".products img:not([src])");
    return image && /^url\("http:[^"]*\/console\/assets\/picture-[^"]*\.svg"\)$/.test(frame.contentWindow.getComputedStyle(image, "::before").backgroundImage);
  });
  await assertQuiet(window);
});

test("what cannot be saved is asked about before it is left", async () => {
  const window = await openEditor({ links: [{ title: "News", url: "https://example.com/news" }] });
  const { page, made, read } = window;
  const address = page.getByLabel("Address of News");
  const asked = page.getByRole("dialog", { name: "Leave without saving?" });
  await page.getByRole("link", { name: "Pages", exact: true }).first().click();
  await page.getByRole("link", { name: /^Ada/ }).click();
  await address.fill("javascript:alert(1)");
  const leave = {
    "a link": () => page.getByRole("link", { name: "Webhooks", exact: true }).first().click(),
    "the browser's button": () => page.goBack(),
    "the command palette": async () => {
      await page.keyboard.press("Control+k");
      await page.waitForFunction(() => document.activeElement.matches(".palette-input"));
      await page.keyboard.type("Webhooks");
      await page.locator(".palette-item[data-selected]").getByText("Webhooks").waitFor();
      await page.keyboard.press("Enter");
    },
    "signing out": () => page.getByRole("button", { name: "Sign out" }).click(),
  };
  for (const [way, go] of Object.entries(leave)) {
    await go();
    await asked.waitFor();
    await asked.getByRole("button", { name: "Stay" }).click();
    await asked.waitFor({ state: "detached" });
    assert.deepEqual([await address.inputValue(), new URL(page.url()).pathname], ["javascript:alert(1)", `/console/pages/${made.id}`], way);
  }
  const question = page.waitForEvent("dialog");
  await page.evaluate(() => { setTimeout(() => location.reload()); });
  const dialog = await question;
  assert.equal(dialog.type(), "beforeunload");
  await dialog.dismiss();
  assert.equal(await address.inputValue(), "javascript:alert(1)");
  await leave["a link"]();
  await asked.getByRole("button", { name: "Leave" }).click();
  await page.getByRole("heading", { name: "Webhooks", level: 1 }).waitFor();
  assert.equal((await read()).links[0].url, "https://example.com/news");
  await assertQuiet(window, true);
});

test("what can be saved is saved when its view is left by any way", async () => {
  const window = await openEditor();
  const { page, read, title, made } = window;
  const pages = page.getByRole("link", { name: "Pages", exact: true }).first();
  await pages.click();
  await page.getByRole("link", { name: /^Ada/ }).click();
  await title.fill("Left by a link");
  await pages.click();
  await page.getByRole("heading", { name: "Pages", level: 1 }).waitFor();
  assert.equal((await read()).title, "Left by a link");
  await page.getByRole("link", { name: /^Left/ }).click();
  await title.fill("Left by the button");
  await page.goBack();
  await page.getByRole("heading", { name: "Pages", level: 1 }).waitFor();
  assert.equal((await read()).title, "Left by the button");
  await page.goForward();
  assert.equal(new URL(page.url()).pathname, `/console/pages/${made.id}`);
  await title.waitFor();
  await assertQuiet(window);
});

test("what the editor does not show survives a change", async () => {
  const link = {
    title: "News", url: "https://example.com/news", gate: { kind: "age", min: 21 }, rel: ["nofollow"], icon: "github", visible_until: "2030-12-31T23:59:59Z",
    utm: { source: "bio" }, fallback: { url: "https://example.com/late" }, targets: [{ name: "app", countries: ["DE", "AT"], devices: ["ios"], url: "https://example.com/app" }],
  };
  const price = { amount: "18.00", currency: "EUR" };
  const window = await openEditor({
    links: [link], metadata: { manager: "Charles" }, tags: ["science", "two words"], external_id: "client-17", locale: "en-GB", gate: { kind: "sensitive" },
    socials: [{ platform: "github", url: "https://github.com/ada" }], codes: [{ via: "flyer", title: "Flyers" }], utm: { medium: "bio" },
    seo: { description: "Everything", noindex: true }, theme: { preset: "paper", light: { accent: "#8a3f0f" }, shape: "pill" },
    products: { title: "Shop", layout: "list", items: [{ title: "Poster", url: "https://shop.example.com/poster", price }] },
  });
  const { page, made, read } = window;
  await page.getByLabel("Bio").fill("changed");
  for (const part of ["Look", "Shop", "More", "Content"]) await page.getByRole("group", { name: "Parts of the page" }).getByRole("button", { name: part }).click();
  await page.keyboard.press("Control+s");
  await page.getByText("All changes saved").waitFor();
  const changed = await read();
  assert.equal(changed.bio, "changed");
  const same = ({ bio, revision, updated_at, object, ...rest }) => rest;
  assert.deepEqual(same(changed), same(made));
  await assertQuiet(window);
});
