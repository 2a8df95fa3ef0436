// Edges for the tests of one program (tests/src/edge_host.rs), in one process: loading Miniflare takes eight times as long as
// starting one. Each line of the input starts an edge, `ID ["--port","0",…]`, or ends it, `ID`. Each line of the output
// is what an edge has printed, `ID text`, or says that it has ended, `ID`. All end with the input.
import { AsyncLocalStorage } from "node:async_hooks";
import childProcess from "node:child_process";
import { createInterface } from "node:readline";

import { startEdge } from "../../scripts/edge/start.mjs";

const starting = new AsyncLocalStorage();
const edges = new Map();

/** Tests stop and kill the process of a worker, whose id Miniflare does not tell. */
const { spawn } = childProcess;
childProcess.spawn = (...command) => {
  const child = spawn(...command);
  starting.getStore()?.log(`edge runtime ${child.pid}`);
  return child;
};

async function start(id, args) {
  const log = (text) => text.split("\n").forEach((line) => console.log(`${id} ${line}`));
  const output = { log, error: log };
  const started = starting.run(output, () => startEdge(args, output));
  edges.set(id, started);
  try {
    await (await started).listening;
  } catch (error) {
    log(String(error.stack));
    await end(id);
  }
}

/** Ends an edge that listens, or could not be started. */
async function end(id) {
  const started = await edges.get(id).catch(() => {});
  await started?.listening.then(() => started.edge.dispose(), () => {});
  edges.delete(id);
  console.log(id);
}

for await (const line of createInterface({ input: process.stdin })) {
  const [, id, args] = line.match(/^(\d+) ?(.*)$/);
  if (args) start(id, JSON.parse(args));
  else end(id);
}
await Promise.all([...edges.keys()].map(end));
process.exit(0);
