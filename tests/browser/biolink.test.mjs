// Bio-link pages that were made through the API, as a browser shows them: accessible, small, and with nothing but
// themselves and their images. Leaves the screenshots under target/screenshots/.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { findViolations } from "./parts/axe.mjs";
import { createPage, LARGE, LOOKS, RIGHT_TO_LEFT, TYPICAL } from "./parts/biolink.mjs";
import { startChromium } from "./parts/chromium.mjs";
import { callApi } from "./parts/console.mjs";
import { ADMIN_SECRET, startEdge } from "./parts/edge.mjs";
import { image, startImages } from "./parts/images.mjs";

const ROOT = path.resolve(import.meta.dirname, "../..");
const SCREENSHOTS = path.join(process.env.CARGO_TARGET_DIR || path.join(ROOT, "target"), "screenshots");
const SCHEMES = ["light", "dark"];
const WIDTHS = [320, 1280];
const PAGES = { typical: TYPICAL, "right-to-left": RIGHT_TO_LEFT };

let edge;
let browser;
let images;

before(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  [edge, images] = await Promise.all([startEdge(), startImages()]);
  browser = await startChromium(images.args);
  for (const page of [...Object.values(PAGES), LARGE, ...LOOKS]) await createPage(edge, page);
});
after(() => Promise.all([browser?.close(), edge?.end(), images?.end()]));

const address = ({ slug }) => `${edge.origin}/${slug}`;

for (const [name, document] of Object.entries(PAGES)) {
  for (const scheme of SCHEMES) {
    for (const width of WIDTHS) {
      test(`${name} page in ${scheme} at ${width} px has no finding of axe and fits`, async () => {
        const viewport = { width, height: 720 };
        const page = await browser.newPage({ colorScheme: scheme, viewport, ignoreHTTPSErrors: true });
        const complaints = [];
        const requests = [];
        page.on("console", (message) => complaints.push(message.text()));
        page.on("pageerror", (error) => complaints.push(error.message));
        page.on("request", (request) => requests.push(request.url()));
        await page.goto(address(document), { waitUntil: "networkidle" });
        await page.screenshot({ path: path.join(SCREENSHOTS, `${name}-${scheme}-${width}.png`), fullPage: true });
        // The one of the README (docs/page.png), on a screen that is not too tall.
        if (width < 600) await page.screenshot({ path: path.join(SCREENSHOTS, `${name}-${scheme}-phone.png`) });

        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
        assert.equal(await page.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches), scheme === "dark");
        // Nothing but the page and its images, all of which are shown. One says that the page was laid out.
        const seen = requests.filter((url) => url.startsWith(`${address(document)}/seen/`));
        assert.equal(seen.length, 1);
        const expected = [address(document), ...seen];
        const strangers = requests.filter((url) => !expected.includes(url) && !url.startsWith(image("").slice(0, -4)) && !url.startsWith("data:"));
        assert.deepEqual(strangers, []);
        const broken = await page.evaluate(() => [...document.images].filter((shown) => shown.complete && !shown.naturalWidth).map((shown) => shown.src));
        assert.deepEqual(broken, []);
        assert.deepEqual(complaints, []);

        assert.deepEqual(await findViolations(page, 10), []);
        await page.close();
      });
    }
  }
}

for (const look of LOOKS) {
  test(`${look.slug} has no finding of axe, fits, and nothing of it moves`, async () => {
    for (const scheme of SCHEMES) {
      const viewport = { width: 360, height: 720 };
      const page = await browser.newPage({ colorScheme: scheme, viewport, ignoreHTTPSErrors: true });
      await page.addInitScript(() => {
        globalThis.moved = 0;
        const add = (list) => list.getEntries().forEach((entry) => (globalThis.moved += entry.value));
        new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
      });
      await page.goto(address(look), { waitUntil: "networkidle" });
      assert.equal(await page.evaluate(() => globalThis.moved), 0);
      for (const width of [360, 1280]) {
        await page.setViewportSize({ width, height: 720 });
        await page.screenshot({ path: path.join(SCREENSHOTS, `${look.slug}-${scheme}-${width}.png`) });
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
        assert.deepEqual(await findViolations(page), []);
      }
      await page.close();
    }
  });
}

test("notices have the design of the site, no finding of axe, and fit", async () => {
  const tokens = readFileSync(path.join(ROOT, "portal/web/src/tokens.css"), "utf8");
  const papers = [...tokens.matchAll(/--paper: (#[0-9a-f]{6});/g)].map(([, color]) => color);
  const { key } = await createPage(edge, { ...TYPICAL, slug: "asked" });
  const suspended = await callApi(edge, key, "POST", "/pages", { title: "Free money", slug: "suspended", status: "published" });
  await callApi(edge, key, "POST", "/pages", { title: "Wine", slug: "gated", status: "published", gate: { kind: "age", min: 18 } });
  const headers = { authorization: `Bearer ${ADMIN_SECRET}`, "content-type": "application/json" };
  const done = await fetch(`${edge.origin}/admin/pages/${suspended.id}/suspend`, { method: "POST", headers, body: JSON.stringify({ reason: "phishing" }) });
  assert.equal(done.status, 200);
  const send = async (page) => {
    await page.getByLabel("What is wrong with it?").selectOption("phishing");
    await page.getByRole("button", { name: "Send the report" }).click();
    await page.getByRole("heading", { name: "Thank you for the report" }).waitFor();
  };
  for (const [notice, status, heading, act] of [
    ["/nobody", 404, "There is no page here"],
    ["/suspended", 410, "This page is not available"],
    ["/asked/report", 200, "Report this page"],
    ["/asked/report", 200, "Report this page", send],
    ["/gated", 200, "Wine"],
  ]) {
    for (const [nth, colorScheme] of SCHEMES.entries()) {
      const page = await browser.newPage({ colorScheme, viewport: { width: 320, height: 720 } });
      const response = await page.goto(edge.origin + notice);
      assert.deepEqual([response.status(), await page.locator("h1").innerText()], [status, heading]);
      await act?.(page);
      const name = act ? "reported" : notice.slice(1).replace("/", "-");
      await page.screenshot({ path: path.join(SCREENSHOTS, `notice-${name}-${colorScheme}.png`) });
      // The question before a page has the look of its page, not that of the site.
      if (notice !== "/gated") {
        const paper = [1, 3, 5].map((at) => Number.parseInt(papers[nth].slice(at, at + 2), 16)).join(", ");
        assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), `rgb(${paper})`);
      }
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 720 });
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
        assert.deepEqual(await findViolations(page), [], `${notice} ${colorScheme}`);
      }
      await page.close();
    }
  }
});

test("pages are as small as promised", async (context) => {
  for (const [document, limit] of [[TYPICAL, 4352], [RIGHT_TO_LEFT, 4096], [LARGE, 7168], ...LOOKS.map((look) => [look, 5120])]) {
    const response = await fetch(address(document), { headers: { "accept-encoding": "identity" } });
    const body = Buffer.from(await response.arrayBuffer());
    assert.equal(response.status, 200);
    const size = gzipSync(body).length;
    assert.ok(size <= limit, `${document.slug}: ${size} bytes gzipped, at most ${limit} expected`);
    context.diagnostic(`${document.slug}: ${body.length} bytes, ${size} gzipped`);
  }
});
