// What Lighthouse says of bio-link pages, the reference and the console. It measures time: what runs beside it can only cost a
// page points, and then it is measured again. What counts is the best that each audit had in any of the measurements.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import lighthouse, { desktopConfig } from "lighthouse";
import { createPage, RIGHT_TO_LEFT, TYPICAL } from "./parts/biolink.mjs";
import { startDebuggedChromium } from "./parts/chromium.mjs";
import { startEdge } from "./parts/edge.mjs";
import { startImages } from "./parts/images.mjs";

const BIOLINK_PAGES = { typical: TYPICAL, "right-to-left": RIGHT_TO_LEFT };
const REFERENCE = ["/", "/status", "/docs", "/docs/pages", "/docs/objects"];
/** Measurements of a page at most: what else the machine does makes it slower and never faster. */
const ATTEMPTS = 8;
const EXPECTED_OF_CONSOLE = { performance: 95 };
const CATEGORIES = ["performance", "accessibility", "best-practices", "seo"];
/** Only a report that a person reads needs the picture of the whole page, which takes a second or two. */
const SETTINGS = { disableFullPageScreenshot: true };

let edge;
let images;

before(async () => {
  [edge, images] = await Promise.all([startEdge(), startImages()]);
  for (const page of Object.values(BIOLINK_PAGES)) await createPage(edge, page);
});
after(() => Promise.all([edge?.end(), images?.end()]));

/** The settings for a screen of this width: a phone on a slow network, or a desktop computer. */
function settings(width) {
  const screenEmulation = { width, height: 720, deviceScaleFactor: 1, mobile: width < 600, disabled: false };
  return { ...(width < 600 ? {} : desktopConfig.settings), screenEmulation };
}

/** Asserts that each category of a page has this score, or that of its name and 100 for the rest, after a few measurements. What has it is not measured again. */
async function assertScores(expected, url, port, settings) {
  let due = CATEGORIES;
  let report;
  const best = {};
  for (let attempt = 0; attempt < ATTEMPTS && due.length > 0; attempt += 1) {
    const config = { extends: "lighthouse:default", settings: { ...SETTINGS, ...settings, onlyCategories: due } };
    ({ lhr: report } = await lighthouse(url, { port, logLevel: "error" }, config));
    assert.equal(report.runtimeError, undefined);
    assert.deepEqual(Object.keys(report.categories), due);
    for (const { id, score } of Object.values(report.audits)) best[id] = Math.max(best[id] ?? 0, score ?? 0);
    // The score of one measurement is Lighthouse's own.
    if (attempt === 0) for (const category of due) assert.equal(scoreOf(report.categories[category], best), Math.round(report.categories[category].score * 100));
    due = due.filter((category) => scoreOf(report.categories[category], best) < (expected[category] ?? (Number(expected) || 100)));
  }
  assert.deepEqual(due, [], `${url}: at least ${JSON.stringify(expected)} expected: ${shortfalls(report)}`);
}

/** The score of a category as Lighthouse has it: the weighted mean of its audits. */
function scoreOf({ auditRefs }, best) {
  const sum = (value) => auditRefs.reduce((all, audit) => all + value(audit), 0);
  return Math.round((100 * sum(({ id, weight }) => best[id] * weight)) / sum(({ weight }) => weight));
}

/** The audits that cost points, for the message of a failed test. */
function shortfalls({ audits }) {
  const poor = Object.values(audits).filter(({ score }) => score !== null && score < 1);
  return JSON.stringify(poor.map(({ id, score, displayValue, details }) => [id, score, displayValue, details?.items?.slice(0, 3)]), null, 1);
}

for (const scheme of ["light", "dark"]) {
  test(`pages get 100 of Lighthouse in every category in ${scheme}`, async (context) => {
    const preferred = `--blink-settings=preferredColorScheme=${scheme === "dark" ? 0 : 1}`;
    const debugged = await startDebuggedChromium([...images.args, preferred]);
    try {
      for (const [name, { slug }] of Object.entries(BIOLINK_PAGES)) {
        for (const width of [320, 1280]) {
          await context.test(`${name} page at ${width} px in ${scheme}`, () =>
            assertScores(100, `${edge.origin}/${slug}`, debugged.port, settings(width)));
        }
      }
      assert.equal(await debugged.evaluate("matchMedia('(prefers-color-scheme: dark)').matches"), scheme === "dark");
    } finally {
      await debugged.end();
    }
  });
}

test("site gets at least 95 of Lighthouse in every category", async (context) => {
  const debugged = await startDebuggedChromium();
  try {
    for (const path of REFERENCE) {
      for (const width of [360, 1280]) {
        await context.test(`${path} at ${width} px`, () => assertScores(95, edge.origin + path, debugged.port, settings(width)));
      }
    }
  } finally {
    await debugged.end();
  }
});

test("console gets 100 of Lighthouse, and at least 95 for speed", async (context) => {
  const debugged = await startDebuggedChromium();
  const key = await edge.issueKey({ biolink_plan: "business" });
  // The console asks search engines not to show it, which the audit `is-crawlable` counts as a fault. What is signed in stays so.
  const more = { skipAudits: ["is-crawlable"], disableStorageReset: true };
  const signIn = `fetch("${edge.origin}/console/session", { method: "PUT", headers: { "X-API-Key": ${JSON.stringify(key)} } }).then(({ status }) => status)`;
  const signedIn = () => debugged.evaluate(`fetch("${edge.origin}/console/session").then((response) => response.json())`);
  try {
    for (const width of [360, 1280]) {
      await context.test(`sign-in at ${width} px`, () =>
        assertScores(EXPECTED_OF_CONSOLE, `${edge.origin}/console/`, debugged.port, { ...settings(width), ...more }));
    }
    await debugged.evaluate(`location.assign("${edge.origin}/console/")`);
    assert.equal(await debugged.evaluate(signIn), 204);
    for (const width of [360, 1280]) {
      await context.test(`Home at ${width} px`, () =>
        assertScores(EXPECTED_OF_CONSOLE, `${edge.origin}/console/`, debugged.port, { ...settings(width), ...more }));
    }
    assert.deepEqual(await signedIn(), { signed_in: true }, "it was Home that was measured");
  } finally {
    await debugged.end();
  }
});
