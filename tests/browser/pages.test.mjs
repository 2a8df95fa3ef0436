// The pages for people, as a browser shows them.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { findViolations } from "./parts/axe.mjs";
import { startChromium } from "./parts/chromium.mjs";
import { startEdge } from "./parts/edge.mjs";
import { openPage } from "./parts/page.mjs";

const PAGES = ["/", "/status", "/docs", "/docs/pages", "/docs/objects", "/problems/quota-exceeded"];
let edge;
let browser;

before(async () => {
  [edge, browser] = await Promise.all([startEdge(), startChromium()]);
});
after(() => Promise.all([browser?.close(), edge?.end()]));

const open = (path, options) => openPage(browser, edge.origin + path, options);

/** The addresses of a page's scripts. */
const scripts = (path) => (path.startsWith("/docs") ? [`${edge.origin}/assets/docs.js`] : []);

for (const path of PAGES) {
  test(`${path} loads nothing but itself and its script, and breaks no rule of its own`, async () => {
    const { page, complaints, requests } = await open(path);
    assert.deepEqual(complaints, []);
    // A browser asks for the icon by itself. The typeface is asked for once: its preload is what the style uses.
    const others = requests.filter((url) => !url.endsWith("/favicon.ico"));
    const fonts = others.filter((url) => url.endsWith(".woff2"));
    assert.deepEqual(others.filter((url) => !fonts.includes(url)), [edge.origin + path, ...scripts(path)]);
    assert.equal(fonts.length, 1, String(fonts));
    assert.ok(fonts[0].startsWith(`${edge.origin}/console/assets/geist-`), fonts[0]);
    await page.close();
  });

  test(`${path} is styled, though its policy forbids all styles but its own`, async () => {
    const { page } = await open(path);
    assert.equal(await page.locator("body").evaluate((body) => getComputedStyle(body).marginTop), "0px");
    await page.close();
  });

  test(`${path} fits every width, from a narrow phone to a wide screen`, async () => {
    const { page } = await open(path, { viewport: { width: 320, height: 640 } });
    // 640 is 1,280 at 200 %.
    for (const width of [320, 640, 768, 1920]) {
      await page.setViewportSize({ width, height: 640 });
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
    }
    await page.close();
  });

  test(`${path} leads the keyboard past its navigation first`, async () => {
    const { page } = await open(path);
    await page.keyboard.press("Tab");
    // A press is over before the browser has told where it led.
    await Promise.all([page.waitForURL((url) => url.hash === "#main"), page.keyboard.press("Enter")]);
    assert.equal(await page.locator("main#main h1").count(), 1);
    await page.close();
  });

  test(`${path} has no link that leads nowhere`, async () => {
    const { page } = await open(path);
    const links = await page.locator("a[href]").evaluateAll((all) => all.map((link) => link.href));
    const own = [...new Set(links)].filter((link) => link.startsWith(edge.origin));
    assert.notEqual(own.length, 0);
    for (const link of own) await assertLeadsSomewhere(page, link);
    await page.close();
  });
}

test("site and console have the same typeface, which is small, loaded first and never hides a text", async () => {
  const seen = [];
  for (const path of ["/", "/docs", "/status", "/console"]) {
    const { page } = await open(path);
    await page.locator("h1").first().waitFor();
    const { faces, preloads } = await page.evaluate(async () => {
      await document.fonts.ready;
      const faces = [...document.fonts].map(({ family, status, display }) => [family.replaceAll('"', ""), status, display]);
      return { faces, preloads: [...document.querySelectorAll("link[rel=preload][as=font]")].map(({ href }) => href) };
    });
    assert.deepEqual(faces, [["Geist", "loaded", "swap"]], path);
    seen.push(...preloads);
    await page.close();
  }
  assert.equal(seen.length, 4, String(seen));
  assert.equal(new Set(seen).size, 1, String(seen));
  const font = await fetch(seen[0]);
  const size = (await font.arrayBuffer()).byteLength;
  assert.deepEqual([font.status, font.headers.get("content-type"), size <= 40_000], [200, "font/woff2", true], `${size} bytes`);
});

test("picture for networks is where the pages say", async () => {
  for (const path of ["/", "/docs"]) {
    const { page } = await open(path);
    const content = (name) => page.locator(`meta[property="${name}"]`).getAttribute("content");
    const address = await content("og:image");
    const response = await fetch(address);
    assert.deepEqual([response.status, response.headers.get("content-type")], [200, "image/png"], address);
    const bytes = Buffer.from(await response.arrayBuffer());
    assert.deepEqual([bytes.subarray(1, 4).toString(), bytes.readUInt32BE(16), bytes.readUInt32BE(20)], ["PNG", 1200, 630]);
    assert.equal(await content("og:title"), await page.title());
    await page.close();
  }
});

test("state of each tool is on one line, whatever the width", async () => {
  for (const width of [320, 360, 768, 1280, 1920]) {
    const { page } = await open("/status", { viewport: { width, height: 720 } });
    const states = await page.locator(".tools td:nth-child(2) span").evaluateAll((all) => all.map((state) => [state.innerText, state.getClientRects().length]));
    assert.equal(states.length, 17);
    assert.deepEqual(states.filter(([, lines]) => lines > 1), [], `at ${width} px`);
    await page.close();
  }
});

for (const path of ["/", "/status"]) {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [360, 1280]) {
      test(`${path} in ${colorScheme} at ${width} px has no finding of axe and fits`, async () => {
        const { page } = await open(path, { colorScheme, viewport: { width, height: 720 } });
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
        assert.deepEqual(await findViolations(page, 10), []);
        await page.close();
      });
    }
  }
}

async function assertLeadsSomewhere(page, link) {
  const response = await page.request.get(link);
  // No origin is behind this edge, so it cannot tell which tools are available or what they do, and says so.
  const expected = ["/v1/status", "/docs/tools", "/tools", "/tools/openapi.json"].includes(new URL(link).pathname) ? 503 : 200;
  assert.equal(response.status(), expected, link);
  const { hash } = new URL(link);
  if (hash) assert.ok((await response.text()).includes(`id="${decodeURIComponent(hash.slice(1))}"`), link);
}
