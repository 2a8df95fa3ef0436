// Pictures of every view of the web app and of the site at 360 and 1,280 px, light and dark:
// `node tests/browser/web_shots.mjs FOLDER [view …]`. Those of docs/ are WebP: `FORMATS=webp`.
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createPage } from "./parts/biolink.mjs";
import { startChromium } from "./parts/chromium.mjs";
import { ADMIN_SECRET, startEdge } from "./parts/edge.mjs";
import { fillAccount } from "./parts/web_account.mjs";

const [folder = "target/web-shots", ...wanted] = process.argv.slice(2);
const SIZES = [[1280, 860], [360, 740]];
/** Which of the four pictures of a view to take, such as `1280-light`; all of them if it is not set. */
const ONLY = process.env.ONLY?.split(",");
const FORMATS = process.env.FORMATS?.split(",") ?? ["png"];
mkdirSync(folder, { recursive: true });

const edge = await startEdge();
const web = edge;
const browser = await startChromium();
const account = await fillAccount(web, createPage);

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
  keys: { path: "/developers/keys" },
  usage: { path: "/developers/usage" },
  calls: { path: "/developers/calls" },
  webhooks: { path: "/developers/webhooks" },
  webhook: { path: `/developers/webhooks/${account.webhook.id}` },
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
  start: { of: "/" },
  docs: { of: "/docs" },
  status: { of: "/status" },
  notice: { of: "/nobody" },
  report: { of: `/${account.page.slug}/report` },
};

for (const [name, view] of Object.entries(VIEWS)) {
  if (wanted.length && !wanted.includes(name)) continue;
  for (const [width, height] of SIZES) {
    for (const colorScheme of ["light", "dark"]) {
      if (ONLY && !ONLY.includes(`${width}-${colorScheme}`)) continue;
      await shoot(name, view, { viewport: { width, height }, colorScheme }).catch((error) => console.log(`${name}-${width}-${colorScheme}: ${error.message}`));
    }
  }
}
await browser.close();
await edge.end();

/** Returns the address of the consent page of OAuth. */
async function consent() {
  const redirect = "https://agent.example/back";
  const registered = await fetch(`${web.origin}/oauth/register`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ client_name: "Helper", redirect_uris: [redirect] }) });
  const { client_id } = await registered.json();
  const asked = new URLSearchParams({ response_type: "code", client_id, redirect_uri: redirect, code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256", scope: "tools:all biolink:read" });
  const response = await fetch(`${web.origin}/oauth/authorize?${asked}`, { redirect: "manual" });
  return new URL(response.headers.get("location"), web.origin).href.slice(`${web.origin}/console`.length);
}

/** Waits until nothing is on its way, as a picture may not be of half a view. */
async function settled(page) {
  await page.waitForFunction(() => !document.querySelector("[aria-busy=true]"), undefined, { timeout: 8_000 }).catch(() => console.log(`${page.url()}: stays busy`));
  await page.waitForTimeout(900);
}

async function shoot(name, { path: address, of, key = account.key, run }, options) {
  const context = await browser.newContext({ ...options, locale: "en-GB", timezoneId: "Europe/Berlin" });
  const page = await context.newPage();
  page.setDefaultTimeout(8_000);
  const file = `${name}-${options.viewport.width}-${options.colorScheme}`;
  page.on("console", (message) => console.log(`${file}: ${message.text()}`));
  page.on("pageerror", (error) => console.log(`${file}: ${error.stack}`));
  await page.goto(web.origin + (of ?? `/console${address}`));
  if (of || name === "connect") await settled(page);
  else await page.getByLabel("API key").fill(key);
  if (!of && !["sign-in", "connect"].includes(name)) {
    await page.getByLabel(/^Keep me/).uncheck();
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator("main h1").first().waitFor({ timeout: 8_000 }).catch(() => console.log(`${file}: no heading`));
    await settled(page);
    await run?.(page, options.viewport.width < 900);
    await settled(page);
  }
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (overflow > 0) console.log(`${file}: ${overflow} px too wide`);
  const session = await context.newCDPSession(page);
  for (const format of FORMATS) {
    const { data } = await session.send("Page.captureScreenshot", { format, ...(format === "webp" ? { quality: 82 } : {}) });
    writeFileSync(path.join(folder, `${file}.${format}`), Buffer.from(data, "base64"));
  }
  await context.close();
}
