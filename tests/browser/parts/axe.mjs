// What axe says of what a page shows.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * Returns what axe finds wrong, each with the elements and why, once the page is at rest: half of a change of colors is no design.
 * `least` is the number of rules that the page must have met.
 */
export async function findViolations(page, least = 5) {
  await page.waitForFunction(() => !document.querySelector("[aria-busy=true]"));
  await page.evaluate(async () => {
    await document.fonts.ready;
    const ending = document.getAnimations().filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity);
    await Promise.allSettled(ending.map(({ finished }) => finished));
  });
  // Not a script element, which the page's policy would refuse.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(AXE);
  const { violations, passes } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  assert.ok(passes.length > least, `axe has looked at the page: ${passes.length} rules`);
  return violations.map(({ id, nodes }) => [id, nodes.slice(0, 5).map(({ html, any }) => `${html.slice(0, 200)} ${any[0]?.message ?? ""}`)]);
}
