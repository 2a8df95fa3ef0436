// Bio-link pages that were made through the API, as a browser shows them: accessible, fast, small, and with nothing but
// themselves and their images. Leaves the screenshots under target/screenshots/.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import lighthouse, { desktopConfig } from "lighthouse";
import { createPage, LARGE, RIGHT_TO_LEFT, TYPICAL } from "./parts/biolink.mjs";
import { startChromium, startDebuggedChromium } from "./parts/chromium.mjs";
import { startEdge } from "./parts/edge.mjs";
import { image, startImages } from "./parts/images.mjs";

const ROOT = path.resolve(import.meta.dirname, "../..");
const SCREENSHOTS = path.join(process.env.CARGO_TARGET_DIR || path.join(ROOT, "target"), "screenshots");
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SCHEMES = ["light", "dark"];
const WIDTHS = [320, 1280];
const PAGES = { typical: TYPICAL, "right-to-left": RIGHT_TO_LEFT };
/** Measurements of a page's speed at most. */
const ATTEMPTS = 5;

let edge;
let browser;
let images;

before(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  [edge, images] = await Promise.all([startEdge(), startImages()]);
  browser = await startChromium(images.args);
  for (const page of [...Object.values(PAGES), LARGE]) await createPage(edge, page);
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

        // Not a script element, which the page's policy would refuse.
        await page.evaluate(AXE);
        const { violations, passes } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
        assert.ok(passes.length > 10, "axe has looked at the page");
        assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]), []);
        await page.close();
      });
    }
  }
}

/** The settings of Lighthouse for a screen of this width: a phone on a slow network, or a desktop computer. */
function settings(width) {
  const config = width < 600 ? {} : desktopConfig.settings;
  const screen = { width, height: 720, deviceScaleFactor: 1, mobile: width < 600, disabled: false };
  return { ...config, screenEmulation: screen };
}

/** The sum of a report's scores, one for each category. */
const sum = ({ categories }) => Object.values(categories).reduce((sum, { score }) => sum + score, 0);

/**
 * Measures a page. What else the machine does makes it slower and never faster, and can make Lighthouse give up on
 * robots.txt, so the best of a few measurements counts.
 */
async function measure(url, port, width) {
  let best;
  for (let attempt = 0; attempt < ATTEMPTS && !(best && sum(best) === Object.keys(best.categories).length); attempt += 1) {
    const config = { extends: "lighthouse:default", settings: settings(width) };
    const { lhr } = await lighthouse(url, { port, logLevel: "error", output: "json" }, config);
    assert.equal(lhr.runtimeError, undefined);
    if (!best || sum(lhr) > sum(best)) best = lhr;
  }
  return best;
}

for (const scheme of SCHEMES) {
  test(`pages get 100 of Lighthouse in every category in ${scheme}`, async (context) => {
    const preferred = `--blink-settings=preferredColorScheme=${scheme === "dark" ? 0 : 1}`;
    const debugged = await startDebuggedChromium([...images.args, preferred]);
    try {
      for (const [name, document] of Object.entries(PAGES)) {
        for (const width of WIDTHS) {
          await context.test(`${name} page at ${width} px in ${scheme}`, async () => {
            const report = await measure(address(document), debugged.port, width);
            const scores = Object.values(report.categories).map(({ id, score }) => [id, score * 100]);
            const expected = ["performance", "accessibility", "best-practices", "seo"].map((id) => [id, 100]);
            assert.deepEqual(scores, expected, shortfalls(report));
          });
        }
      }
      assert.equal(await debugged.evaluate("matchMedia('(prefers-color-scheme: dark)').matches"), scheme === "dark");
    } finally {
      await debugged.end();
    }
  });
}

/** The audits that cost points, for the message of a failed test. */
function shortfalls({ audits }) {
  const poor = Object.values(audits).filter(({ score }) => score !== null && score < 1);
  return JSON.stringify(poor.map(({ id, score, displayValue, details }) => [id, score, displayValue, details?.items?.slice(0, 3)]), null, 1);
}

test("pages are as small as promised", async (context) => {
  for (const [document, limit] of [[TYPICAL, 4096], [RIGHT_TO_LEFT, 4096], [LARGE, 10_240]]) {
    const response = await fetch(address(document), { headers: { "accept-encoding": "identity" } });
    const body = Buffer.from(await response.arrayBuffer());
    assert.equal(response.status, 200);
    const size = gzipSync(body).length;
    assert.ok(size <= limit, `${document.slug}: ${size} bytes gzipped, at most ${limit} expected`);
    context.diagnostic(`${document.slug}: ${body.length} bytes, ${size} gzipped`);
  }
});
