// Writes the prices of conf/prices.toml into every PRICES of both Workers: `node scripts/prices.mjs`. Deploy both afterwards.
//   PROXY=FILE    the proxy, which checks the prices; default target/release/proxy
//   `node scripts/prices.mjs PRICES WRANGLER…` takes other files
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const ROOT = path.resolve(import.meta.dirname, "..");
const PROXY = process.env.PROXY || path.join(process.env.CARGO_TARGET_DIR || path.join(ROOT, "target"), "release/proxy");
const [prices = path.join(ROOT, "conf/prices.toml"), ...given] = process.argv.slice(2);
const configs = given.length ? given : ["wrangler.toml", "wrangler.pages.toml"].map((name) => path.join(ROOT, name));

const { status, stdout, error } = spawnSync(PROXY, ["--print-prices", prices], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
if (error) console.error(`error ${PROXY} does not run (${error.code}): build it with \`make build\`, or set PROXY`);
if (status !== 0) process.exit(status ?? 1);
// No action has an apostrophe, which would end the literal.
const line = `PRICES = '${stdout.trim()}'`;
for (const config of configs) {
  writeFileSync(config, readFileSync(config, "utf8").replace(/^PRICES = .*$/gm, () => line));
  console.log(`ok    ${config}: ${line}`);
}
