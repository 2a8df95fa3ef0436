// Copies the records of all keys out of the KV namespace KEYS into a file that `wrangler kv bulk put` reads. docs/deploy.md says how
// they are put back.
//   node scripts/backup-keys.mjs FILE [--allow-empty] [wrangler's options], such as: keys.json --env production --remote
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const ROOT = path.resolve(import.meta.dirname, "..");
const WRANGLER = path.join(ROOT, "node_modules/wrangler/bin/wrangler.js");
/** The maximum of one bulk read. */
const BATCH = 100;

const [file, ...rest] = process.argv.slice(2);
if (!file || file.startsWith("-")) {
  console.error("usage: backup-keys.mjs FILE [--allow-empty] [wrangler's options]");
  process.exit(64);
}
const options = rest.filter((option) => option !== "--allow-empty");
const isEmptyAllowed = options.length < rest.length;
const temporary = mkdtempSync(path.join(tmpdir(), "backup-keys-"));

/** Ends with an error, and writes no file: what was backed up before stays. */
function fail(why) {
  rmSync(temporary, { recursive: true, force: true });
  console.error(`fail  ${why}`);
  process.exit(1);
}

/** Runs a command of `wrangler kv` and returns what it prints as JSON, which is followed by lines for people. */
function kv(...command) {
  const args = [WRANGLER, "kv", ...command, "--binding", "KEYS", ...options];
  const printed = execFileSync(process.execPath, args, { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 30 });
  const begin = printed.search(/^[[{]/m);
  if (begin < 0) fail(`wrangler kv ${command.join(" ")} printed no JSON: ${printed.trim() || "nothing"}`);
  const end = Math.max(printed.lastIndexOf("\n]"), printed.lastIndexOf("\n}"));
  return JSON.parse(printed.slice(begin, end < begin ? undefined : end + 2));
}

/** Returns the records of these keys as `bulk put` reads them. */
function records(names) {
  const list = path.join(temporary, "names.json");
  writeFileSync(list, JSON.stringify(names));
  const values = kv("bulk", "get", list);
  return names.map((key) => {
    const value = values[key]?.value;
    if (typeof value !== "string") fail(`${key} was listed and cannot be read: run the backup again`);
    return { key, value };
  });
}

try {
  const names = kv("key", "list", "--prefix", "key:").map(({ name }) => name);
  // An empty namespace is nearly always another one than was meant.
  if (names.length === 0 && !isEmptyAllowed)
    fail(`no keys in this namespace with ${options.join(" ") || "no options"}: check --env, --remote or --local and --persist-to; --allow-empty makes a backup of none`);
  const found = [];
  for (let at = 0; at < names.length; at += BATCH) found.push(...records(names.slice(at, at + BATCH)));
  // In one step, so that a full disk leaves the last backup.
  writeFileSync(`${file}.new`, `${JSON.stringify(found, undefined, 1)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
  console.log(`ok    ${found.length} keys in ${file}`);
} finally {
  rmSync(temporary, { recursive: true, force: true });
}
