// A page of somebody else's, calling the gateway with its own key: what the browser lets it send and read.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { startChromium } from "./parts/chromium.mjs";
import { startEdge } from "./parts/edge.mjs";

let edge;
let browser;
let elsewhere;
let page;

before(async () => {
  elsewhere = createServer((_, response) => response.setHeader("content-type", "text/html").end("<title>elsewhere</title>"));
  elsewhere.listen(0, "127.0.0.1");
  [edge, browser] = await Promise.all([startEdge(), startChromium(), once(elsewhere, "listening")]);
  page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${elsewhere.address().port}/`);
});
after(async () => {
  await Promise.all([browser?.close(), edge?.end()]);
  elsewhere.close();
});

/** What a script on that page gets to see of an answer. */
function call(path, init) {
  return page.evaluate(
    async ([url, options]) => {
      const response = await fetch(url, options);
      return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.json() };
    },
    [edge.origin + path, init],
  );
}

test("a page of another origin calls with its key and reads its limits", async () => {
  const seen = await call("/v1/keys/me", { headers: { "X-API-Key": await edge.issueKey() } });
  assert.equal(seen.status, 200);
  assert.match(seen.headers["ratelimit-policy"], /"minute";q=10;w=60/);
  assert.match(seen.headers.ratelimit, /"minute";r=10/);
  assert.ok(seen.headers["x-request-id"]);
});

test("a page of another origin reads the problem of a call without a key", async () => {
  const seen = await call("/v1/qr/generate", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
  assert.equal(seen.status, 401);
  assert.equal(seen.body.code, "key-missing");
  assert.equal(seen.body.request_id, seen.headers["x-request-id"]);
});

test("a page of another origin learns when to come back to a tool that is out of reach", async () => {
  const seen = await call("/v1/qr/generate", {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-API-Key": await edge.issueKey() },
    body: "{}",
  });
  assert.equal(seen.status, 503);
  assert.ok(Number(seen.headers["retry-after"]) > 0);
});
