// Prints the functions of the built worker that calls run and that are too large, and fails if there are any: V8
// optimizes those first in a new isolate, and for long (docs/decisions/edge.md, "Functions with one caller stay functions").
//   node tests/edge/functions.mjs [FOLDER of a checkout with a built worker]
// Which functions run is V8's word: it compiles each when it is first called, and a flag makes it say so.
import { readFileSync } from "node:fs";
import path from "node:path";
import { startOrigin } from "../bench/origin.mjs";
import { prepare } from "../bench/scenarios.mjs";
import { Client, Workerd, gateway } from "../bench/workerd.mjs";

const LIMIT = 8192;
/** Larger functions that are not hot in a new isolate: it does what a changed page has left to do. */
const RARE = [
  "edge_worker::biolink::durable::account::tasks::<impl edge_worker::biolink::durable::account::Account>::perform::{{closure}}",
];
const COMPILED = /#(\d+) using Liftoff,.* bodysize (\d+) /g;

const folder = path.resolve(process.argv[2] ?? path.join(import.meta.dirname, "../.."));
const lines = readFileSync(path.join(folder, "edge-worker/build/index_bg.names"), "utf8").trimEnd().split("\n");
const names = new Map(lines.map((line) => line.split(/ (.*)/, 2)));

const origin = await startOrigin();
const flags = ["--trace-wasm-compilation-times"];
const workerd = await new Workerd(gateway("edge", folder), `http://127.0.0.1:${origin.address().port}`, 1, flags).start();
const client = new Client(workerd.port);
const works = await prepare("edge", client);
const { headers } = works.GET;
for (const work of [...Object.values(works), { expected: 200, path: "/pages", headers }, { expected: 200, path: "/healthz" }]) {
  const { status, body } = await client.send(work.visit?.() ?? work);
  if (status !== work.expected) throw new Error(`${work.path}: ${status} instead of ${work.expected}: ${body}`);
}
const { log } = workerd;
await workerd.remove();
origin.close();

const compiled = [...log.matchAll(COMPILED)].map(([, id, size]) => ({ name: names.get(id), size: Number(size) }));
if (compiled.length < 500) throw new Error(`V8 names ${compiled.length} functions, and the calls above run more than 500`);
const large = compiled.filter(({ name, size }) => size > LIMIT && !RARE.includes(name));
for (const { name, size } of large) console.error(`${size} bytes: ${name}`);
console.log(`${compiled.length} functions run, ${large.length} of them too large`);
process.exit(large.length && 1);
