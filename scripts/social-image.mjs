// Makes the picture that networks show of the site, portal/web/public/assets/social-HASH.png, from the mark and the tokens of the
// design: `node scripts/social-image.mjs`. Prints its name, which portal/src/docs/layout.rs has.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { startChromium } from "../tests/browser/parts/chromium.mjs";

const WEB = path.join(import.meta.dirname, "../portal/web");
const OUT = path.join(WEB, "public/assets");
const read = (name, encoding) => readFileSync(path.join(WEB, name), encoding);

const font = read("node_modules/@fontsource-variable/geist/files/geist-latin-wght-normal.woff2", "base64");
const mark = read("src/mark.svg", "utf8");
const style = `
@font-face{font-family:Geist;font-weight:100 900;src:url(data:font/woff2;base64,${font})}
*{box-sizing:border-box;margin:0}
body{width:1200px;height:630px;overflow:hidden;display:flex;background:var(--paper);color:var(--ink);font:28px/1.4 var(--font)}
.words{flex:1;padding:72px 0 0 80px}
.name{display:flex;align-items:center;gap:20px;margin-bottom:64px;font-size:44px;font-weight:680;letter-spacing:-.03em}
.name svg{width:72px;height:72px}
h1{font-size:88px;line-height:1.02;font-weight:660;letter-spacing:-.045em}
.words p{margin-top:32px;color:var(--ink-soft);max-width:560px}
.shown{width:440px;display:flex;justify-content:center;padding-top:72px;background:var(--chart-1)}
.phone{width:300px;height:700px;padding:44px 28px;display:flex;flex-direction:column;align-items:center;gap:14px;border:10px solid var(--ink);border-radius:52px;background:var(--surface);font-size:20px;text-align:center}
.face{width:96px;height:96px;border-radius:50%;background:var(--brand-soft);color:var(--on-brand-soft);display:grid;place-items:center;font-size:40px;font-weight:650}
.phone b{font-size:28px;letter-spacing:-.02em}
.phone p{color:var(--ink-soft);line-height:1.35;padding-bottom:8px}
.link{width:100%;padding:14px;border:2px solid var(--line);border-radius:99px;font-weight:550}
.link.first{background:var(--action);border-color:var(--action);color:var(--on-action)}`;
const body = `
<div class="words"><div class="name">${mark}Portico</div><h1>One key for<br>tools and pages</h1>
<p>Exact limits, errors that explain themselves, and pages for your links.</p></div>
<div class="shown"><div class="phone"><span class="face">A</span><b>Ada Lovelace</b><p>Notes on engines and numbers.</p>
<span class="link first">Read the notes</span><span class="link">Newsletter</span><span class="link">Talks</span></div></div>`;

const browser = await startChromium();
const page = await browser.newPage({ viewport: { width: 1200, height: 630 }, colorScheme: "light" });
await page.setContent(`<style>${read("src/tokens.css", "utf8")}${style}</style>${body}`);
await page.evaluate(() => document.fonts.ready);
const picture = await page.screenshot({ type: "png" });
await browser.close();

const name = `social-${createHash("sha256").update(picture).digest("hex").slice(0, 8)}.png`;
mkdirSync(OUT, { recursive: true });
readdirSync(OUT).forEach((old) => rmSync(path.join(OUT, old)));
writeFileSync(path.join(OUT, name), picture);
console.log(`${name}: ${picture.length} bytes`);
