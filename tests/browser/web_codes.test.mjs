// QR codes as their owner designs and saves them in the web app, read by a decoder that is not ours.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { startChromium } from "./parts/chromium.mjs";
import { assertQuiet, callApi } from "./parts/console.mjs";
import { startEdge } from "./parts/edge.mjs";
import { startReader } from "./parts/scan.mjs";
import { openWeb } from "./parts/web_window.mjs";

const TYPES = { PNG: "image/png", SVG: "image/svg+xml", PDF: "application/pdf" };

let edge;
let browser;
let key;
let made;
let scan;

before(async () => {
  [edge, browser] = await Promise.all([startEdge(), startChromium()]);
  scan = await startReader(browser);
  key = await edge.issueKey({ biolink_plan: "business" });
  made = await callApi(edge, key, "POST", "/pages", { title: "Blumen Lotte", slug: "blumen-qr", status: "published", links: [{ title: "Shop", url: "https://example.com/" }], codes: [{ via: "flyer", title: "Flyer" }] });
});
after(() => Promise.all([browser?.close(), edge?.end()]));

/** A picture of colors that no PNG of a logo's size has room for, as phones take them. */
async function photo(type) {
  const page = await browser.newPage();
  const data = await page.evaluate(async (type) => {
    const canvas = new OffscreenCanvas(1_400, 1_400);
    const context = canvas.getContext("2d");
    for (let nth = 0; nth < 1_400; nth += 1) {
      context.fillStyle = `hsl(${nth} 80% ${30 + (nth * 7) % 40}%)`;
      context.fillRect((nth * 37) % 1_400, (nth * 91) % 1_400, 120, 90);
    }
    const blob = await canvas.convertToBlob({ type });
    return [...new Uint8Array(await blob.arrayBuffer())];
  }, type);
  await page.close();
  return Buffer.from(data);
}

test("QR code of any design scans from every file it is saved as", async () => {
  const window = await openWeb(browser, edge, key, `/links/${made.id}`);
  const { page } = window;
  const card = page.getByRole("article", { name: "Flyer" });
  const expected = made.urls.codes.flyer.qr;
  await card.getByRole("button", { name: "Design" }).click();
  const save = async (kind) => {
    const downloaded = page.waitForEvent("download");
    await card.getByRole("button", { name: `Download the QR code of Flyer as ${kind}` }).click();
    const file = await downloaded;
    assert.equal(file.suggestedFilename(), `blumen-qr-flyer-qr.${kind.toLowerCase()}`);
    return readFileSync(await file.path());
  };
  const scanned = async () => {
    const found = {};
    for (const [kind, type] of Object.entries(TYPES)) found[kind] = await scan(await save(kind), type);
    return found;
  };
  const all = { PNG: expected, SVG: expected, PDF: expected };

  assert.deepEqual(await scanned(), all, "as it comes");
  await card.getByLabel("Color", { exact: true }).fill("#7a1f00");
  await card.getByLabel("Background", { exact: true }).fill("#ffe9d6");
  assert.deepEqual(await scanned(), all, "with colors");
  await card.getByLabel("Icon in the middle").selectOption("instagram");
  assert.deepEqual(await scanned(), all, "with an icon");
  await card.getByLabel("Border").fill("16");
  await card.getByLabel("Upload an image for the middle").setInputFiles({ name: "shop.webp", mimeType: "image/webp", buffer: await photo("image/webp") });
  await card.getByRole("button", { name: "Your image 1", pressed: true }).waitFor();
  const { data: images } = await callApi(edge, key, "GET", "/images");
  assert.deepEqual(images.map(({ type, bytes }) => [type, bytes <= 262_144]), [["image/png", true]]);
  assert.deepEqual(await scanned(), all, "with an image of one's own");
  assert.ok((await save("PNG")).length > 10_000, "the image is in it");

  // An image of a page, which no PNG can hold as it is, is picked and copied once.
  const stored = await fetch(`${edge.origin}/images`, { method: "POST", headers: { "x-api-key": key, "content-type": "image/jpeg" }, body: await photo("image/jpeg") });
  assert.ok(stored.ok, `${stored.status}`);
  await page.reload();
  for (let nth = 0; nth < 2; nth += 1) {
    if (nth) await page.reload();
    await card.getByRole("button", { name: "Design" }).click();
    await card.getByRole("button", { name: "Your image 2" }).waitFor();
    const kinds = (await callApi(edge, key, "GET", "/images")).data.map(({ type }) => type);
    await card.getByRole("button", { name: `Your image ${kinds.indexOf("image/jpeg") + 1}` }).click();
    await card.locator("button.own[aria-pressed=true]").waitFor();
    assert.deepEqual(await scanned(), all, "with an image of a page");
  }
  assert.equal((await callApi(edge, key, "GET", "/images")).data.length, 3);
  await assertQuiet(window);
});

test("every icon that is offered for a QR code is shown and scans", async () => {
  const window = await openWeb(browser, edge, key, `/links/${made.id}`);
  const card = window.page.getByRole("article", { name: "Flyer" });
  await card.getByRole("button", { name: "Design" }).click();
  const offered = await card.getByLabel("Icon in the middle").locator("option").evaluateAll((options) => options.map(({ value }) => value));
  assert.ok(offered.length > 20, `${offered}`);
  const picture = card.getByRole("img", { name: "QR code of Flyer" });
  const sources = new Set();
  for (const value of offered) {
    await card.getByLabel("Icon in the middle").selectOption(value);
    const source = await picture.getAttribute("src");
    const response = await fetch(edge.origin + source);
    assert.equal(response.status, 200, value);
    const file = Buffer.from(await response.arrayBuffer());
    assert.equal(await scan(file, "image/svg+xml"), made.urls.codes.flyer.qr, value);
    sources.add(file.toString());
  }
  assert.equal(sources.size, offered.length);
  await assertQuiet(window);
});

test("colors that do not scan are refused by the console as by the service", async () => {
  const window = await openWeb(browser, edge, key, `/links/${made.id}`);
  const card = window.page.getByRole("article", { name: "Flyer" });
  await card.getByRole("button", { name: "Design" }).click();
  const status = card.getByRole("status").filter({ hasText: /scan|light/i });
  for (const [fg, bg, words] of [["#767676", "#ffffff", "Scans well"], ["#777777", "#ffffff", "Too faint to scan"], ["#ffffff", "#000000", "Dark on light only"], ["#1d4ed8", "#dbeafe", "Scans well"]]) {
    await card.getByLabel("Color", { exact: true }).fill(fg);
    await card.getByLabel("Background", { exact: true }).fill(bg);
    assert.equal(await status.innerText(), words, `${fg} on ${bg}`);
    const image = new URL(made.urls.codes.flyer.image);
    image.searchParams.set("fg", fg);
    image.searchParams.set("bg", bg);
    assert.equal((await fetch(image)).ok, words === "Scans well", `${fg} on ${bg}`);
    assert.equal(await card.getByRole("button", { name: /as PNG$/ }).isEnabled(), words === "Scans well");
  }
  await assertQuiet(window);
});
