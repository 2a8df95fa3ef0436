// What people and programs do with a page in Chromium, and what `GET /analytics` counts of it: exactly that.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { settledReport, until } from "./parts/analytics.mjs";
import { createPage } from "./parts/biolink.mjs";
import { startWholeChromium } from "./parts/chromium.mjs";
import { startEdge } from "./parts/edge.mjs";
import { image, startImages } from "./parts/images.mjs";

/** User agents of people: the one of a headless Chromium is a bot's. */
const COMPUTER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";
const PHONE = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36";
/** Options of playwright without which Chromium keeps pages that were left, as it does for people. */
const NO_BACK_FORWARD_CACHE = ["--disable-back-forward-cache"];

let edge;
let browser;
let images;

before(async () => {
  [edge, images] = await Promise.all([startEdge(), startImages()]);
  browser = await startWholeChromium(images.args, NO_BACK_FORWARD_CACHE);
});
after(() => Promise.all([browser?.close(), edge?.end(), images?.end()]));

/** Creates a page with a link, a link for mail and a product, all of which lead to a host that the tests have. */
function create(slug) {
  return createPage(edge, {
    slug,
    title: "Ada Lovelace",
    links: [
      { title: "News", url: image("news") },
      { type: "email", title: "Write to me", url: "ada@example.com" },
    ],
    products: { items: [{ title: "Poster", url: image("poster") }] },
    status: "published",
  });
}

/** Opens a window of a person. `requests` are those that it sends. */
async function open(userAgent, options = {}) {
  const context = await browser.newContext({ userAgent, ignoreHTTPSErrors: true, ...options });
  const page = await context.newPage();
  const requests = [];
  context.on("request", (request) => requests.push(request.url()));
  return { context, page, requests };
}

/** Goes to an address and waits until all of it is laid out. */
async function visit(page, address) {
  await page.goto(address, { waitUntil: "networkidle" });
}

/** Follows a link of the page that leads away. */
async function follow(page, title) {
  await Promise.all([page.waitForURL("https://images.example.com/**"), page.getByRole("link", { name: title }).click()]);
}

/** Goes back to a page that was left. One that was kept is not loaded. */
async function goBack(page, address) {
  await page.goBack({ waitUntil: "commit" });
  assert.equal(page.url(), address);
}

/** Totals of a page that only people visit. */
const totals = (counts) => ({
  views: 0, visitors: 0, clicks: 0, unique_clicks: 0, scans: 0, unique_scans: 0, views_confirmed: 0, bots: 0, ...counts,
});

/** The counts of a report, without ratios. */
const counted = ({ totals: { ctr, unique_ctr, ...counts } }) => counts;

test("visit with clicks, a way back and a reload is counted exactly", async () => {
  const created = await create("person");
  const { context, page, requests } = await open(COMPUTER);
  await visit(page, `${edge.origin}/person`);
  await page.evaluate(() => { globalThis.isKept = true; });
  await follow(page, "News");
  // Back to the page that was kept: the browser asks for nothing.
  await goBack(page, `${edge.origin}/person`);
  assert.equal(await page.evaluate(() => globalThis.isKept), true, "the page was kept");
  await follow(page, "Poster");
  await goBack(page, `${edge.origin}/person`);
  await page.reload({ waitUntil: "networkidle" });
  await context.close();
  assert.equal(requests.filter((url) => url === `${edge.origin}/person`).length, 2);

  const expected = totals({ views: 2, visitors: 1, clicks: 2, unique_clicks: 1, views_confirmed: 2 });
  const report = await settledReport(edge, created, expected, "&group_by=link,product,device,browser");
  assert.deepEqual(counted(report), expected);
  const titles = ({ link, product }) => [...link, ...product].map((row) => [row.title, row.clicks, row.unique_clicks]);
  assert.deepEqual(titles(report.groups), [["News", 1, 1], ["Poster", 1, 1]]);
  assert.deepEqual(report.groups.browser, [{ browser: "Chrome", views: 2, clicks: 2, ctr: 1 }]);
  assert.deepEqual(report.groups.device, [{ device: "desktop", views: 2, clicks: 2, ctr: 1 }]);
});

test("click on an address for mail is counted by its ping", async () => {
  const created = await create("writer");
  const { context, page, requests } = await open(COMPUTER);
  await visit(page, `${edge.origin}/writer`);
  await page.getByRole("link", { name: "Write to me" }).click();
  const pinged = created.links.find(({ type }) => type === "email").id;
  await until("ping", () => requests.includes(`${edge.origin}/writer/ping/${pinged.slice(-6)}`));

  const expected = totals({ views: 1, visitors: 1, clicks: 1, unique_clicks: 1, views_confirmed: 1 });
  const report = await settledReport(edge, created, expected, "&group_by=link");
  assert.deepEqual(counted(report), expected);
  assert.deepEqual(report.groups.link.map(({ id, clicks }) => [id, clicks]), [[pinged, 1]]);
  await context.close();
});

test("scan of a code is a scan and a view, and its image is neither", async () => {
  const created = await create("poster");
  const [phone, computer] = [await open(PHONE), await open(COMPUTER)];
  await visit(computer.page, created.urls.qr);
  await visit(phone.page, `${edge.origin}/q/poster`);
  assert.equal(phone.page.url(), `${edge.origin}/poster?via=qr`);
  await visit(computer.page, `${edge.origin}/poster`);
  await Promise.all([phone.context.close(), computer.context.close()]);

  const expected = totals({ views: 2, visitors: 2, scans: 1, unique_scans: 1, views_confirmed: 2 });
  const report = await settledReport(edge, created, expected, "&group_by=channel,qr_code,device");
  assert.deepEqual(counted(report), expected);
  assert.deepEqual(report.groups.channel.map(({ channel, views }) => [channel, views]), [["direct", 1], ["qr", 1]]);
  assert.deepEqual(report.groups.qr_code, [{ qr_code: "poster", scans: 1, unique_scans: 1 }]);
});

test("page and link that are only prefetched are not counted", async () => {
  const created = await create("rumor");
  const { context, page } = await open(COMPUTER, { bypassCSP: true });
  await page.goto(`${edge.origin}/docs`);
  const link = `/rumor/l/${created.links[0].id}`;
  await page.evaluate(([prefetched, followed, prerendered]) => {
    const hint = Object.assign(document.createElement("link"), { rel: "prefetch", href: followed });
    const rules = Object.assign(document.createElement("script"), { type: "speculationrules" });
    rules.textContent = JSON.stringify({
      prefetch: [{ source: "list", urls: [prefetched], eagerness: "immediate" }],
      prerender: [{ source: "list", urls: [prerendered], eagerness: "immediate" }],
    });
    document.head.append(hint, rules);
  }, ["/rumor", link, "/rumor?prerendered"]);

  const report = await settledReport(edge, created, { ...totals({}), prefetch: 3 });
  assert.deepEqual(counted(report), totals({}));
  assert.equal(report.ignored.prefetch, 3);
  await context.close();
});

test("page that was prefetched is counted when it is opened", async () => {
  const created = await create("early");
  const { context, page } = await open(COMPUTER, { bypassCSP: true });
  await page.goto(`${edge.origin}/docs`);
  const prefetched = page.waitForResponse(`${edge.origin}/early`);
  await page.evaluate(() => {
    document.head.append(Object.assign(document.createElement("link"), { rel: "prefetch", href: "/early" }));
  });
  assert.equal((await prefetched).status(), 503);
  await visit(page, `${edge.origin}/early`);
  await context.close();

  const expected = totals({ views: 1, visitors: 1, views_confirmed: 1 });
  const report = await settledReport(edge, created, { ...expected, prefetch: 1 });
  assert.deepEqual(counted(report), expected);
  assert.equal(report.ignored.prefetch, 1);
});

test("visitor who objects is counted without a number", async () => {
  const created = await create("private");
  const { context, page } = await open(COMPUTER, { extraHTTPHeaders: { "Sec-GPC": "1" } });
  await visit(page, `${edge.origin}/private`);
  await follow(page, "News");
  await context.close();

  const expected = totals({ views: 1, clicks: 1, views_confirmed: 1 });
  const report = await settledReport(edge, created, expected);
  assert.deepEqual(counted(report), expected);
});

test("visit of the owner is neither viewed nor confirmed", async () => {
  const created = await create("mine");
  const { context, page, requests } = await open(COMPUTER);
  await visit(page, `${edge.origin}/mine?notrack`);
  await context.close();
  assert.deepEqual(requests.filter((url) => url.includes("/seen/")), []);

  const report = await settledReport(edge, created, { ...totals({}), own: 1 });
  assert.deepEqual(counted(report), totals({}));
  assert.equal(report.ignored.own, 2);
});

test("headless browser and HEAD request are ignored with their reasons", async () => {
  const created = await create("robot");
  const { context, page } = await open(undefined);
  await visit(page, `${edge.origin}/robot`);
  await follow(page, "News");
  await context.close();
  const head = await fetch(`${edge.origin}/robot`, { method: "HEAD", headers: { "user-agent": COMPUTER } });
  assert.equal(head.status, 200);

  const expected = totals({ bots: 2 });
  const report = await settledReport(edge, created, expected);
  assert.deepEqual(counted(report), expected);
  assert.deepEqual(report.ignored, { head: 1, prefetch: 0, preview: 0, own: 1, embed: 0, flood: 0, bot: { automation: 2 } });
});
