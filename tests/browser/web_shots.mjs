// Pictures of every view of the web app and of the site at 360 and 1,280 px, light and dark:
// `node tests/browser/web_shots.mjs FOLDER [view …]`. Those of docs/ are WebP: `FORMATS=webp`. `WHOLE=1` shows what is below the
// window too.
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createPage } from "./parts/biolink.mjs";
import { startChromium } from "./parts/chromium.mjs";
import { startGateway } from "./parts/gateway.mjs";
import { startImages } from "./parts/images.mjs";
import { fillAccount } from "./parts/web_account.mjs";
import { connectServices } from "./parts/web_services.mjs";

const [folder = "target/web-shots", ...wanted] = process.argv.slice(2);
const SIZES = [[1280, 860], [360, 740]];
/** Which of the four pictures of a view to take, such as `1280-light`; all of them if it is not set. */
const ONLY = process.env.ONLY?.split(",");
const FORMATS = process.env.FORMATS?.split(",") ?? ["png"];
mkdirSync(folder, { recursive: true });

const [gateway, images] = await Promise.all([startGateway("edge-with-domains"), startImages()]);
const browser = await startChromium(images.args);
const account = await fillAccount(gateway, createPage);
const services = await connectServices(gateway, account);
const ADMIN_SECRET = gateway.adminSecret;

/** A view: its address, who sees it, and what is done there before the picture. */
const VIEWS = {
  "sign-in": { path: "/" },
  home: { path: "/" },
  "home-empty": { path: "/", key: account.empty },
  pages: { path: "/pages" },
  editor: { path: `/pages/${account.page.id}` },
  "editor-link": { path: `/pages/${account.page.id}`, run: (page) => page.getByRole("button", { name: /^Settings of/ }).first().click() },
  "editor-look": { path: `/pages/${account.page.id}`, run: (page) => page.getByRole("button", { name: "Look", exact: true }).click() },
  "editor-shop": { path: `/pages/${account.page.id}`, run: (page) => page.getByRole("button", { name: "Shop", exact: true }).click() },
  "editor-more": { path: `/pages/${account.page.id}`, run: (page) => page.getByRole("button", { name: "More", exact: true }).click() },
  "editor-preview": { path: `/pages/${account.page.id}`, run: (page, isNarrow) => isNarrow && page.getByRole("button", { name: "Preview" }).click() },
  publish: { path: `/pages/${account.draft.id}`, run: (page) => page.getByRole("button", { name: /^Publish/ }).click() },
  links: { path: `/links/${account.page.id}` },
  analytics: { path: "/analytics?interval=7d" },
  products: { path: "/products" },
  domains: { path: "/domains" },
  "domains-new": { path: "/domains", run: (page) => page.getByRole("button", { name: "Add a domain" }).click() },
  "domains-empty": { path: "/domains", key: account.empty },
  keys: { path: "/developers/keys" },
  usage: { path: "/developers/usage" },
  calls: { path: "/developers/calls" },
  webhooks: { path: "/developers/webhooks" },
  webhook: { path: `/developers/webhooks/${account.webhook.id}` },
  "webhook-failed": { path: `/developers/webhooks/${services.failing}` },
  tools: { path: "/developers/tools" },
  alerts: { path: "/developers/alerts" },
  connect: { path: await consent() },
  settings: { path: "/settings" },
  palette: { path: "/pages", run: (page) => page.keyboard.press("Control+k") },
  "admin-keys": { path: "/admin/keys", key: ADMIN_SECRET },
  "admin-key": { path: `/admin/keys/${account.id}`, key: ADMIN_SECRET },
  "admin-reports": { path: "/admin/reports", key: ADMIN_SECRET },
  "admin-incidents": { path: "/admin/incidents", key: ADMIN_SECRET },
  "admin-page": { path: `/admin/pages/${account.page.id}`, key: ADMIN_SECRET },
  "admin-account": { path: `/admin/accounts/${account.id}`, key: ADMIN_SECRET },
  "admin-hosts": { path: "/admin/hosts", key: ADMIN_SECRET },
  page: { of: `/${account.page.slug}` },
  start: { of: "/" },
  docs: { of: "/docs" },
  status: { of: "/status" },
  notice: { of: "/nobody" },
  report: { of: `/${account.page.slug}/report` },
};

/** A window for who has this key, or for a visitor, in which each view is shown: to start one takes longer than to show a view. */
const windows = new Map();
for (const [name, view] of Object.entries(VIEWS)) {
  if (wanted.length && !wanted.includes(name)) continue;
  for (const [width, height] of SIZES) {
    const schemes = ["light", "dark"].filter((scheme) => !ONLY || ONLY.includes(`${width}-${scheme}`));
    if (schemes.length) await shoot(name, view, { width, height }, schemes).catch((error) => console.log(`${name}-${width}: ${error.message}`));
  }
}
await browser.close();
await Promise.all([services.end(), images.end(), gateway.end()]);

/** Returns the address of the consent page of OAuth. */
async function consent() {
  const redirect = "https://agent.example/back";
  const registered = await fetch(`${gateway.origin}/oauth/register`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ client_name: "Helper", redirect_uris: [redirect] }) });
  const { client_id } = await registered.json();
  const asked = new URLSearchParams({ response_type: "code", client_id, redirect_uri: redirect, code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256", scope: "tools:all biolink:read" });
  const response = await fetch(`${gateway.origin}/oauth/authorize?${asked}`, { redirect: "manual" });
  return new URL(response.headers.get("location"), gateway.origin).href.replace(/^.*\/console/, "");
}

/** Returns the window of a key. What it says is written with the name of the view that it shows. */
async function windowOf(key) {
  if (windows.has(key)) return windows.get(key);
  const context = await browser.newContext({ locale: "en-GB", timezoneId: "Europe/Berlin" });
  const page = await context.newPage();
  page.setDefaultTimeout(8_000);
  const window = { page, session: await context.newCDPSession(page), name: "", requests: new Set() };
  page.on("console", (message) => console.log(`${window.name}: ${message.text().slice(0, 300)}`));
  page.on("pageerror", (error) => console.log(`${window.name}: ${error.stack}`));
  page.on("request", (request) => window.requests.add(request));
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => window.requests.delete(request));
  windows.set(key, window);
  return window;
}

/** Waits until nothing is on its way, as a picture may not be of half a view. */
async function settled({ page, name, requests }) {
  const isBusy = () => page.evaluate(async () => {
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    await document.fonts.ready;
    const ending = document.getAnimations().filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity);
    await Promise.allSettled(ending.map(({ finished }) => finished));
    return Boolean(document.querySelector("[aria-busy=true]"));
  });
  for (let quiet = 0, end = Date.now() + 8_000; quiet < 3; ) {
    quiet = (await isBusy()) || requests.size ? 0 : quiet + 1;
    if (Date.now() > end) return console.log(`${name}: stays busy with ${[...requests].map((request) => request.url())}`);
  }
}

/** Shows a view and takes its pictures, one in each color scheme. */
async function shoot(name, { path: address, of, key = account.key, run }, viewport, schemes) {
  const isOpen = of || ["sign-in", "connect"].includes(name);
  const window = await windowOf(isOpen ? undefined : key);
  const { page, session } = window;
  window.name = `${name}-${viewport.width}`;
  window.requests.clear();
  await page.setViewportSize(viewport);
  await page.emulateMedia({ colorScheme: schemes[0] });
  await page.goto(gateway.origin + (of ?? `/console${address}`));
  if (!isOpen) {
    const secret = page.getByLabel("API key", { exact: true });
    await secret.or(page.locator("#main h1")).first().waitFor();
    if (await secret.isVisible()) {
      await secret.fill(key);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.locator("#main h1").waitFor();
      // The sign-in does not read what it has asked for to its end.
      window.requests.clear();
    }
    await settled(window);
    await run?.(page, viewport.width < 900);
  }
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    await settled(window);
    await takePicture(session, `${window.name}-${colorScheme}`);
  }
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (overflow > 0) console.log(`${window.name}: ${overflow} px too wide`);
}

async function takePicture(session, file) {
  for (const format of FORMATS) {
    const whole = process.env.WHOLE ? { captureBeyondViewport: true, clip: await wholeOf(session) } : {};
    const { data } = await session.send("Page.captureScreenshot", { format, ...whole, ...(format === "webp" ? { quality: 82 } : {}) });
    writeFileSync(path.join(folder, `${file}.${format}`), Buffer.from(data, "base64"));
  }
}

/** The whole of a document, as what a picture shows. */
async function wholeOf(session) {
  const { cssContentSize } = await session.send("Page.getLayoutMetrics");
  return { ...cssContentSize, scale: 1 };
}
