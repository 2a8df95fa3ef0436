// What the web app weighs as it is sent (gzip): `node scripts/web-size.mjs DIST MAX_ALL MAX_FIRST`. Fails if it is more than that.
// The first visit has what index.html names, and Home with what it imports.
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";

const [dist, maxAll, maxFirst] = process.argv.slice(2);
const assets = path.join(dist, "assets");
// The picture that networks show of the site is no part of the app.
const files = readdirSync(assets).filter((name) => !/^social-.*\.png$/.test(name));
const sizes = new Map(files.map((name) => {
  const content = readFileSync(path.join(assets, name));
  return [name, name.endsWith(".woff2") ? content.length : gzipSync(content, { level: 9 }).length];
}));
const text = (name) => readFileSync(path.join(assets, name), "utf8");
const named = (source) => [...sizes.keys()].filter((name) => source.includes(name));

const first = new Set(named(readFileSync(path.join(dist, "index.html"), "utf8")));
for (const name of first) {
  if (name.endsWith(".css")) named(text(name)).forEach((own) => first.add(own));
  if (name.endsWith(".js")) importsOf(name).forEach((own) => first.add(own));
}
const home = [...sizes.keys()].filter((name) => /^Home-/.test(name));
for (const name of home) {
  first.add(name);
  if (name.endsWith(".js")) importsOf(name).forEach((own) => first.add(own));
}

/** What a module imports, and not what it may load later. */
function importsOf(name) {
  return [...text(name).matchAll(/(?:from|import)\s*["']\.\/([^"']+)["']/g)].map(([, own]) => own);
}

const sum = (names) => [...names].reduce((all, name) => all + sizes.get(name), 0);
const [all, begin] = [sum(sizes.keys()), sum(first)];
const kilo = (bytes) => `${(bytes / 1000).toFixed(1)} KB`;
console.log(`web app: first view ${kilo(begin)} of ${kilo(maxFirst)}, all ${kilo(all)} of ${kilo(maxAll)} (gzip)`);
if (all > Number(maxAll) || begin > Number(maxFirst)) {
  console.error("error the web app is heavier than that");
  process.exit(1);
}
