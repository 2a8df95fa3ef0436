// Prints the functions of the built workers that calls run and that are too large, and fails if there are any: V8
// optimizes those first in a new isolate, and for long (docs/decisions/edge.md, "Functions with one caller stay functions").
//   node tests/edge/functions.mjs [FOLDER of a checkout with built workers]
// Which functions run is V8's word: it compiles each when it is first called, and a flag makes it say so.
import { execFileSync } from "node:child_process";
import path from "node:path";
import { startOrigin } from "../bench/origin.mjs";
import { prepare } from "../bench/scenarios.mjs";
import { Client, Workerd, gateway } from "../bench/workerd.mjs";

const LIMIT = 8192;
const LIST = path.join(import.meta.dirname, "../../scripts/wasm-names.mjs");
/** Larger functions that are not hot in a new isolate: it does what a changed page has left to do. */
const RARE = [
  "edge_worker::biolink::durable::account::tasks::<impl edge_worker::biolink::durable::account::Account>::perform::{{closure}}",
];
/** The module by its address, the number of the function, and the size of its body. */
const COMPILED = /(0x[\da-f]+)#(\d+) using Liftoff,.* bodysize (\d+) /g;

const folder = path.resolve(process.argv[2] ?? path.join(import.meta.dirname, "../.."));

/** The functions of a worker: the sizes of their bodies and their names, by number. */
function functionsOf(worker) {
  const file = path.join(folder, "edge-worker/build", worker, "index_bg.wasm");
  const list = execFileSync(process.execPath, [LIST, "--list", file], { encoding: "utf8", maxBuffer: 1 << 26 });
  const functions = list.trimEnd().split("\n").map((line) => line.match(/^(\d+) (\d+) (.*)$/).slice(1));
  return { worker, functions: new Map(functions.map(([number, size, name]) => [number, { size: Number(size), name }])) };
}

const origin = await startOrigin();
const flags = ["--trace-wasm-compilation-times"];
const workerd = await new Workerd(gateway("edge", folder), `http://127.0.0.1:${origin.address().port}`, 1, flags).start();
const client = new Client(workerd.port);
const works = await prepare(gateway("edge", folder), client);
const { headers } = works.GET;
for (const work of [...Object.values(works), { expected: 200, path: "/pages", headers }, { expected: 200, path: "/healthz" }]) {
  const { status, body } = await client.send(work.visit?.() ?? work);
  if (status !== work.expected) throw new Error(`${work.path}: ${status} instead of ${work.expected}: ${body}`);
}
const { log } = workerd;
await workerd.remove();
origin.close();

const workers = ["gateway", "pages"].map(functionsOf);
const modules = new Map();
for (const line of log.matchAll(COMPILED)) modules.set(line[1], [...(modules.get(line[1]) ?? []), line]);
let [count, tooLarge] = [0, 0];
for (const compiled of modules.values()) {
  const found = workers.find(({ functions }) => compiled.every(([, , number, size]) => functions.get(number)?.size === Number(size)));
  if (!found) throw new Error(`V8 names ${compiled.length} functions of a module that is neither worker's`);
  const named = compiled.map(([, , number]) => found.functions.get(number));
  const large = named.filter(({ name, size }) => size > LIMIT && !RARE.includes(name));
  for (const { name, size } of large) console.error(`${size} bytes, ${found.worker}: ${name}`);
  count += named.length;
  tooLarge += large.length;
}
if (modules.size !== workers.length || count < 500) throw new Error(`V8 names ${count} functions of ${modules.size} modules, and the calls above run more than 500 of two`);
console.log(`${count} functions run, ${tooLarge} of them too large`);
process.exit(tooLarge && 1);
