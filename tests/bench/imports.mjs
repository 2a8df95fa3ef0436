// Counts the functions of the runtime that calls make our wasm call, by name: a figure without noise. What they cost is not the
// same for each, but each is a crossing between wasm and JavaScript.
//   node tests/bench/imports.mjs [FOLDER …]   a folder is a checkout with a built worker; without any, this checkout is counted
import { readFileSync, writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { startOrigin } from "./origin.mjs";
import { prepare } from "./scenarios.mjs";
import { Client, Workerd, gateway } from "./workerd.mjs";

const ROOT = path.resolve(import.meta.dirname, "../..");
/** Calls of each kind before it is counted, and while it is. */
const WARM_UP = 200;
const CALLS = 500;
/** Calls for each crossing that are not shown by name: timers and reports, of which a few calls have one. */
const RARE = 0.05;

const COUNTING = `globalThis.calledImports = {};
function counting(name, called) {
  const short = name.replace(/^__wbg_|_[0-9a-f]{16}$/g, "");
  return (...args) => {
    globalThis.calledImports[short] = (globalThis.calledImports[short] ?? 0) + 1;
    return called(...args);
  };
}
function countingImports(modules) {
  const counted = (functions) => Object.entries(functions).map(([name, value]) => [name, typeof value === "function" ? counting(name, value) : value]);
  return Object.fromEntries(Object.entries(modules).map(([name, functions]) => [name, Object.fromEntries(counted(functions))]));
}
`;

/** Our worker with a wasm that counts what it calls. */
function counting(worker, folder) {
  const [main, file] = worker.modules.find(([name]) => name === worker.main);
  const source = readFileSync(file, "utf8");
  const counted = COUNTING + source.replace(/new WebAssembly\.Instance\(([\w$]+),([\w$]+\(\))\)/g, "new WebAssembly.Instance($1,countingImports($2))");
  if (!counted.includes("countingImports(") || counted.length === COUNTING.length + source.length) throw new Error(`${file} makes no instance of wasm`);
  const patched = path.join(folder, `${worker.name}.js`);
  writeFileSync(patched, counted);
  const modules = [["imports.js", path.join(import.meta.dirname, "workers/imports.js")], ["main.js", patched], ...worker.modules.filter(([name]) => name !== main)];
  return { ...worker, main: "imports.js", modules };
}

async function send(client, work, times) {
  for (let call = 0; call < times; call += 1) {
    const { status, body } = await client.send(work.visit?.() ?? work);
    if (status !== work.expected) throw new Error(`${work.path}: ${status} instead of ${work.expected}: ${body}`);
  }
}

async function countImports(worker, origin) {
  const workerd = await new Workerd(worker, origin).start();
  try {
    const client = new Client(workerd.port);
    for (const [name, work] of Object.entries(await prepare(worker.name, client))) {
      await send(client, work, WARM_UP);
      await client.json("GET", "/bench/imports", {});
      await send(client, work, CALLS);
      const called = Object.entries(await client.json("GET", "/bench/imports", {})).map(([name, times]) => [name, times / CALLS]);
      const total = called.reduce((sum, [, times]) => sum + times, 0);
      const shown = called.filter(([, times]) => times >= RARE).sort(([, one], [, other]) => other - one);
      console.log(`${worker.name}, ${name}: ${total.toFixed(1)}: ${shown.map(([name, times]) => `${name} ${times.toFixed(times < 1 ? 2 : 0)}`).join(", ")}`);
    }
  } finally {
    await workerd.remove();
  }
}

const folder = mkdtempSync(path.join(tmpdir(), "bench-imports-"));
const origin = await startOrigin();
try {
  const folders = process.argv.slice(2);
  for (const checkout of folders.length ? folders : [ROOT]) {
    await countImports(counting(gateway(path.basename(path.resolve(checkout)), path.resolve(checkout)), folder), `http://127.0.0.1:${origin.address().port}`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
process.exit();
