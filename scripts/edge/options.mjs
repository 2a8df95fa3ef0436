// What a file of wrangler says of its worker, as options of Miniflare.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const ROOT = path.resolve(import.meta.dirname, "../..");
// npm removes it together with the wrangler that wrote it.
const CACHE = path.join(ROOT, "node_modules/.cache/edge");

/** Asks wrangler. It is given an empty file of variables, so that no secret of .dev.vars is among the options. */
function ask(config, environment, directory) {
  // Not `import`: it would search the package, 13 MB, for the names that it exports.
  const { unstable_getMiniflareWorkerOptions: optionsOf } = createRequire(import.meta.url)("wrangler");
  return optionsOf(config, environment, { overrides: { assets: { directory } }, envFiles: ["/dev/null"] }).workerOptions;
}

/**
 * The options of an environment of `file`, or of its top level, with the static assets in `directory`. They are kept until the
 * file changes: loading wrangler takes half a second, and tests start the workers hundreds of times.
 */
export function workerOptions(file, environment, directory) {
  const config = path.join(ROOT, file);
  const made = JSON.stringify([readFileSync(config, "utf8"), environment, directory]);
  const cached = path.join(CACHE, `${createHash("sha256").update(made).digest("hex")}.json`);
  try {
    return JSON.parse(readFileSync(cached, "utf8"));
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
  const options = ask(config, environment, directory);
  mkdirSync(CACHE, { recursive: true });
  // Renamed, so that a start at the same time reads the whole file or none.
  writeFileSync(`${cached}.${process.pid}`, JSON.stringify(options));
  renameSync(`${cached}.${process.pid}`, cached);
  return options;
}
