// Writes the license texts of everything that is linked into the given packages: each text once, with the crates that it holds for.
//   node scripts/licenses.mjs FILE PACKAGE…
// The texts come from the crates themselves, so it works without a network. A crate without a text is named with its SPDX expression.
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";

const ROOT = path.resolve(import.meta.dirname, "..");
const TEXT = /^(licen[cs]e|copying|notice|copyright|unlicense)/i;

const [file, ...roots] = process.argv.slice(2);
if (!file || !roots.length) throw new Error("usage: licenses.mjs FILE PACKAGE…");

const run = (...args) => execFileSync("cargo", args, { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 28 });
const host = run("-vV").match(/^host: (.*)$/m)[1];
const { packages } = JSON.parse(run("metadata", "--locked", "--offline", "--format-version=1", `--filter-platform=${host}`));
/** Name and version of each crate that is linked: no build scripts, no tests. */
const linked = roots.flatMap((root) => {
  const tree = run("tree", "--locked", "--offline", "-p", root, "-e", "normal", "--prefix=none", "--format={p}", "--target", host);
  return tree.split("\n").map((line) => line.match(/^(\S+) v(\S+)/)).filter(Boolean).map(([, name, version]) => `${name} ${version}`);
});

const crates = [...new Set(linked)].sort();
const texts = new Map();
const without = [];
for (const crate of crates) {
  const found = packages.find(({ name, version }) => `${name} ${version}` === crate);
  if (!found) throw new Error(`${crate} is linked and not in the metadata`);
  // Ours: its licenses lie beside this file.
  if (!found.source) continue;
  const folder = path.dirname(found.manifest_path);
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile() && TEXT.test(entry.name));
  if (!files.length) without.push(`${crate}: ${found.license ?? "no license is named"}`);
  for (const { name } of files) {
    const text = readFileSync(path.join(folder, name), "utf8").trim();
    texts.set(text, [...(texts.get(text) ?? []), crate]);
  }
}

const line = "-".repeat(80);
const parts = [...texts].map(([text, users]) => `${line}\n${[...new Set(users)].join("\n")}\n${line}\n${text}\n`);
writeFileSync(file, `Licenses of what is linked into ${roots.join(" and ")}.\n
Crates without a license text of their own, with what they name instead:
${without.map((entry) => `  ${entry}\n`).join("")}\n${parts.join("\n")}`);
console.log(`ok    ${texts.size} license texts of ${crates.length} crates, ${without.length} crates without one`);
