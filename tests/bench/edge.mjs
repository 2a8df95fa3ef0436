// Measures what calls cost our worker beside workers written by hand: CPU time of workerd, starts, memory, and dollars.
//   node tests/bench/edge.mjs [--rounds 7] [--most-rounds 21] [--calls 2000] [--only cpu,start,costs] [--works GET,redirect] [NAME=FOLDER …]
// A folder is a checkout with a built worker in edge-worker/build: several builds are compared. Without any, this checkout
// is measured. Every worker has a workerd of its own on core 0. The client and the origin are on core 1.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { measureCosts, printCosts } from "./costs.mjs";
import { isCertain, median, printRatios } from "./figures.mjs";
import { startOrigin } from "./origin.mjs";
import { prepare } from "./scenarios.mjs";
import { Client, Workerd, alone, gateway, javascript, wasm } from "./workerd.mjs";

const ROOT = path.resolve(import.meta.dirname, "../..");
const FLOOR = path.join(import.meta.dirname, "floor/build");
const CONNECTIONS = 16;
/** Calls before the first round: V8 has compiled what is hot. */
const WARM_UP = 24_000;
/** Keys that read their usage: for as many thousand calls in a minute. */
const READERS = 40;
/** Calls of a new isolate that are measured together, and starts. */
const FIRST_CALLS = 200;
const STARTS = 9;
const HEALTH = { expected: 200, path: "/healthz" };

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "7" },
    "most-rounds": { type: "string", default: "21" },
    "most-minutes": { type: "string", default: "30" },
    calls: { type: "string", default: "2000" },
    only: { type: "string", default: "cpu,start,costs" },
    works: { type: "string" },
  },
});
const [rounds, calls] = [Number(options.rounds), Number(options.calls)];
/** For calls whose ratios stay uncertain. */
const mostRounds = Math.max(rounds, Number(options["most-rounds"]));
/** After it nothing has more rounds than `rounds`. */
const deadline = performance.now() + 60_000 * Number(options["most-minutes"]);
const parts = options.only.split(",");
const builds = (positionals.length ? positionals : [`ours=${ROOT}`]).map((text) => {
  const [name, folder] = text.split("=");
  if (!folder || !(rounds >= 1) || !(calls >= 1)) throw new Error("usage: edge.mjs [--rounds N] [--most-rounds N] [--most-minutes N] [--calls N] [--only cpu,start,costs] [--works GET,redirect] [NAME=FOLDER …]");
  return gateway(name, path.resolve(folder));
});
const workers = [
  ...builds,
  javascript("lease.js", "lease.js"),
  javascript("grant.js", "grant.js"),
  javascript("promises.js", "promises.js"),
  javascript("object.js", "object.js"),
  javascript("forward.js", "forward.js", {}),
  ...(existsSync(path.join(FLOOR, "index_bg.wasm")) ? [wasm("forward.wasm", FLOOR)] : []),
];

/** Sends so many calls, of which some are always in flight. */
async function repeat(client, work, times, inFlight = CONNECTIONS) {
  let left = times;
  const next = async () => {
    while (left-- > 0) {
      const { status, body } = await (work.client ?? client).send(work.visit?.() ?? work);
      if (status !== work.expected) throw new Error(`${work.path}: ${status} instead of ${work.expected}: ${body}`);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, next));
}

/** Returns the CPU time of workerd for each of so many calls, in microseconds. */
async function cpuOf(peer, work, times, inFlight) {
  const before = peer.workerd.cpuMicros();
  await repeat(peer.client, work, times, inFlight);
  return (peer.workerd.cpuMicros() - before) / times;
}

/** Starts a worker on core 0, and makes the calls that are measured there. */
async function start(worker, origin) {
  const workerd = await new Workerd(worker, origin).start();
  workerd.pin(0);
  const client = new Client(workerd.port, CONNECTIONS);
  const works = await prepare(worker, client, READERS);
  // What the way through the gateway costs.
  if (workerd.pagesPort) works["page at its own worker"] = { ...works.page, client: new Client(workerd.pagesPort, CONNECTIONS) };
  return { name: worker.name, workerd, client, works, micros: {} };
}

/** Measures every kind of call of every worker, in turns. */
async function measureCpu(origin) {
  const peers = [];
  for (const worker of workers) peers.push(await start(worker, origin));
  const known = Object.keys(peers[0].works);
  const names = options.works?.split(",") ?? known;
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`--works: unknown ${unknown.join(", ")}, expected some of ${known.join(", ")}`);
  const each = async (name, round, step) => {
    for (const peer of round % 2 ? [...peers].reverse() : peers) if (peer.works[name]) await step(peer, peer.works[name]);
  };
  for (const name of names) await each(name, 0, (peer, work) => repeat(peer.client, work, WARM_UP / 2));
  const valuesOf = (peer, name) => peer.micros[name];
  for (let round = 0; round < mostRounds; round += 1) {
    for (const name of names) {
      if (round >= rounds && (performance.now() > deadline || isCertain(name, peers, valuesOf))) continue;
      await each(name, round, async (peer, work) => (peer.micros[name] ??= []).push(await cpuOf(peer, work, calls)));
    }
  }
  console.log(`\nCPU time of workerd for each call in µs: median of ${rounds} to ${mostRounds} rounds of ${calls} calls, in brackets ours ÷ theirs and its interval of 95 %`);
  printRatios(names, peers, valuesOf);
  for (const { workerd } of peers) await workerd.remove();
  return Object.fromEntries(names.map((name) => [name, median(peers[0].micros[name])]));
}

/** Measures new processes: to their first response, over the first calls, and their memory. */
async function measureStarts(origin) {
  // On the platform each worker of the edge starts alone.
  const started = workers.flatMap((worker) => (worker.pages ? [alone(worker), { ...worker, name: `${worker.name}, both workers` }] : [worker]));
  const peers = started.map((worker) => ({ name: worker.name, worker, starts: {} }));
  const add = (peer, name, value) => (peer.starts[name] ??= []).push(value);
  for (let round = -1; round < STARTS; round += 1) {
    for (const peer of round % 2 ? [...peers].reverse() : peers) {
      const workerd = new Workerd(peer.worker, origin);
      const begun = performance.now();
      await workerd.start();
      const client = new Client(workerd.port);
      await repeat(client, HEALTH, 1, 1);
      const elapsed = performance.now() - begun;
      const cpu = workerd.cpuMicros();
      const { GET: get } = await prepare(peer.worker, client);
      const each = await cpuOf({ workerd, client }, get, FIRST_CALLS, 1);
      if (round >= 0) {
        add(peer, "start to first response, ms", elapsed);
        add(peer, "CPU of it, ms", cpu / 1000);
        add(peer, `first ${FIRST_CALLS} calls, µs CPU each`, each);
        add(peer, "memory after them, MiB", workerd.residentMiB());
      }
      await workerd.remove();
    }
  }
  console.log(`\nNew processes: median of ${STARTS}, in brackets ours ÷ theirs and its interval of 95 %`);
  printRatios(Object.keys(peers[0].starts), peers, (peer, name) => peer.starts[name]);
}

const origin = await startOrigin();
const originUrl = `http://127.0.0.1:${origin.address().port}`;
spawnSync("taskset", ["-a", "-c", "-p", "1", String(process.pid)], { stdio: "ignore" });
// The costs are counted in real time, with a few calls a second: they run beside the rest.
const counting = parts.includes("costs") ? measureCosts(builds[0], originUrl) : undefined;
const cpu = parts.includes("cpu") ? await measureCpu(originUrl) : {};
if (parts.includes("start")) await measureStarts(originUrl);
if (counting) printCosts(await counting, cpu);
origin.close();
process.exit(0);
