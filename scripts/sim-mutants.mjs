// Puts each fault of the list into a copy of the sources, and plays the simulator of the exchange on it. Fails if one is not found.
// `node scripts/sim-mutants.mjs [part of a name]`; `--check` only says whether each fault can still be put in.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const list = "proxy/transport/src/sim/mutants.txt";
const copy = join(root, "target/sim-mutants");

const blocks = readFileSync(join(root, list), "utf8").split("\n\n").filter((block) => !block.startsWith("#"));
const mutants = blocks.map((block) => {
  const [name, ...lines] = block.trimEnd().split("\n");
  const edits = [];
  for (const line of lines) {
    if (line.startsWith("-")) edits.at(-1).from.push(line.slice(1));
    else if (line.startsWith("+")) edits.at(-1).to.push(line.slice(1));
    else edits.push({ file: join("proxy/transport/src", line), from: [], to: [] });
  }
  return { name, edits };
});

function mutate({ name, edits }) {
  return edits.map(({ file, from, to }) => {
    const text = readFileSync(join(root, file), "utf8");
    const parts = text.split(from.join("\n"));
    if (parts.length !== 2) throw new Error(`${list}: "${name}" must replace one place of ${file}: ${from.join("\n")}`);
    return { file, text: parts.join(to.join("\n")) };
  });
}

mutants.forEach(mutate);
if (process.argv.includes("--check")) process.exit();

mkdirSync(copy, { recursive: true });
const files = execFileSync("git", ["ls-files", "-z"], { cwd: root });
execFileSync("tar", ["-cf", join(copy, "sources.tar"), "--null", "-T", "-"], { cwd: root, input: files });
execFileSync("tar", ["-xmf", "sources.tar"], { cwd: copy });
const env = { ...process.env, CARGO_TARGET_DIR: process.env.CARGO_TARGET_DIR ?? join(root, "target"), RUST_BACKTRACE: "0" };
const test = ["test", "--locked", "-p", "transport", "--lib"];

let missed = 0;
for (const mutant of mutants.filter(({ name }) => name.includes(process.argv[2] ?? ""))) {
  for (const { file, text } of mutate(mutant)) writeFileSync(join(copy, file), text);
  const built = spawnSync("cargo", [...test, "--no-run"], { cwd: copy, env, encoding: "utf8" });
  if (built.status !== 0) throw new Error(`"${mutant.name}" does not compile\n${built.stderr}`);
  const played = spawnSync("cargo", [...test, "--", "--nocapture", "exchange_keeps"], { cwd: copy, env, encoding: "utf8", timeout: 300_000 });
  for (const { file } of mutant.edits) writeFileSync(join(copy, file), readFileSync(join(root, file)));
  const found = played.stdout + played.stderr;
  const first = found.match(/SIM_SEED=\d+: [^;"]*/)?.[0];
  if (played.status === 0) missed += 1;
  console.log(`${played.status === 0 ? "MISSED" : "found "}  ${mutant.name}: ${first ?? "a world that does not end, or a panic"}`);
}
console.log(`${mutants.length} faults, ${missed} missed`);
process.exit(missed ? 1 : 0);
