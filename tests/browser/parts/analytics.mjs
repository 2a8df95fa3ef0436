// What analytics say of a page.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";

/** Only a test that fails waits this long, in milliseconds. */
const PATIENCE = 60_000;
const POLL_INTERVAL = 100;

/** Reads a report about the pages of a key. */
export async function readReport(edge, key, query = "") {
  const response = await fetch(`${edge.origin}/analytics?interval=24h${query}`, { headers: { "x-api-key": key } });
  const report = await response.json();
  assert.equal(response.status, 200, JSON.stringify(report));
  return report;
}

/**
 * Returns the report once everything that was done before is in it. A last event, which counts only as `own`, shows when
 * what came before it was stored. `expected` are totals, events that were prefetched, and visits
 * of the owner; a report with others is returned in the end, for the message of the assertion.
 */
export async function settledReport(edge, page, { prefetch = 0, own = 0, ...totals }, query = "") {
  const last = await fetch(`${edge.origin}/${page.slug}?notrack`);
  assert.equal(last.status, 200);
  const deadline = Date.now() + PATIENCE;
  for (;;) {
    const report = await readReport(edge, page.key, query);
    const hasTotals = Object.entries(totals).every(([name, count]) => report.totals[name] === count);
    const isSettled = hasTotals && report.ignored.own === own + 1 && report.ignored.prefetch >= prefetch;
    if (isSettled || Date.now() > deadline) return report;
    await pause(POLL_INTERVAL);
  }
}

/** Waits until a condition holds. */
export async function until(what, condition) {
  const deadline = Date.now() + PATIENCE;
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, `did not happen: ${what}`);
    await pause(POLL_INTERVAL);
  }
}
