// What wrangler.toml says of the worker, as options of Miniflare.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const ROOT = path.resolve(import.meta.dirname, "../..");
const CONFIG = path.join(ROOT, "wrangler.toml");
// npm removes it together with the wrangler that wrote it.
const CACHE = path.join(ROOT, "node_modules/.cache/edge");

/** Asks wrangler. It is given an empty file of variables, so that no secret of .dev.vars is among the options. */
function ask(environment, directory) {
  // Not `import`: it would search the package, 13 MB, for the names that it exports.
  const { unstable_getMiniflareWorkerOptions: optionsOf } = createRequire(import.meta.url)("wrangler");
  return optionsOf(CONFIG, environment, { overrides: { assets: { directory } }, envFiles: ["/dev/null"] }).workerOptions;
}

/**
 * The options of an environment, or of the top level, with the static assets in `directory`. They are kept until wrangler.toml
 * changes: loading wrangler takes half a second, and tests start the worker hundreds of times.
 */
export function workerOptions(environment, directory) {
  const made = JSON.stringify([readFileSync(CONFIG, "utf8"), environment, directory]);
  const file = path.join(CACHE, `${createHash("sha256").update(made).digest("hex")}.json`);
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
  const options = ask(environment, directory);
  mkdirSync(CACHE, { recursive: true });
  // Renamed, so that a start at the same time reads the whole file or none.
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(options));
  renameSync(`${file}.${process.pid}`, file);
  return options;
}
