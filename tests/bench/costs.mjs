// The cost of a million calls at list prices, from the operations that calls cause: one key for each rate and number of
// isolates, whose calls come at fixed gaps in real time. Of the isolates that a key reaches, the second one takes half as
// many calls as the first, the third one a third, and so on, as in the simulator (tests/src/sim). Everything that follows
// from a call within half a minute counts.
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { issue } from "./scenarios.mjs";
import { Client, Workerd, counting } from "./workerd.mjs";

/** How long the calls come, and how long the reports of the last ones may take, in milliseconds. */
const CALLING_MS = 300_000;
const SETTLING_MS = 32_000;
const TOOL = "/v1/qr/x";

/** Dollars for a million. The load tester has the same. */
const { dollars_per_million: LIST, object_request: OBJECT, object_gb_month: GB_MONTH } = JSON.parse(readFileSync(new URL("../../loadtest/prices.json", import.meta.url)));
const PRICE = {
  request: LIST.worker_requests, cpuMs: LIST.worker_cpu_ms, read: LIST.kv_reads, object: LIST.object_requests,
  row: LIST.object_rows_written, duration: LIST.object_gb_seconds * OBJECT.seconds * OBJECT.gb,
};

const SCENARIOS = [
  { name: "Free, every 7 s", gap: 7000, goal: 1.7, cpu: "GET that asks the object", tier: "free" },
  { name: "Pro, every 12 s", gap: 12_000, cpu: "GET that asks the object", tier: "pro" },
  { name: "Pro, every 2 s", gap: 2000, goal: 0.6, cpu: "GET", tier: "pro" },
  { name: "Pro, every 0.7 s", gap: 700, goal: 0.6, cpu: "GET", tier: "pro" },
  { name: "Enterprise, every 1 s", gap: 1000, goal: 0.4, cpu: "GET", tier: "enterprise" },
  { name: "Enterprise, every 0.7 s", gap: 700, goal: 0.4, cpu: "GET", tier: "enterprise" },
  { name: "Enterprise, every 0.15 s", gap: 150, goal: 0.4, cpu: "GET", tier: "enterprise" },
  { name: "Enterprise, every 0.02 s", gap: 20, goal: 0.4, cpu: "GET", tier: "enterprise", limits: { minute: 6000 } },
];
/** The numbers of isolates that a key reaches. */
const ISOLATES = [1, 2, 4];
/** One KV read and one call of an object with a row for each request; and the same with the record kept in the isolate. */
const USUAL = [
  { name: "KV read and object call each", calls: 1, requests: 1, rows: 1, reads: 1, cpuMicros: 500 },
  { name: "the same, record in the isolate", calls: 1, requests: 1, rows: 1, reads: 0, cpuMicros: 500 },
];

/** One of the first `isolates` clients, with the weights 1, 1/2, 1/3 and so on. */
function draw(clients, isolates) {
  const weights = clients.slice(0, isolates).map((_, place) => 1 / (place + 1));
  let left = Math.random() * weights.reduce((sum, weight) => sum + weight, 0);
  return clients[weights.findIndex((weight) => (left -= weight) < 0)] ?? clients[0];
}

/** Calls at a fixed gap. Returns how many succeeded. */
async function callAtGaps(clients, headers, { gap, isolates }) {
  const end = Date.now() + CALLING_MS;
  const sent = [];
  for (let at = Date.now(); at < end; at += gap) {
    await delay(Math.max(at - Date.now(), 0));
    sent.push(draw(clients, isolates).send({ path: TOOL, headers }));
  }
  const responses = await Promise.all(sent);
  const failed = responses.find(({ status }) => status !== 200);
  if (failed) throw new Error(`a call was answered ${failed.status}: ${failed.body}`);
  return sent.length;
}

/** Counts the operations of each scenario, all at the same time. */
export async function measureCosts(worker, origin) {
  const workerd = await new Workerd(counting(worker), origin, Math.max(...ISOLATES)).start();
  workerd.pin(1);
  const clients = workerd.ports.map((port) => new Client(port, 8));
  const scenarios = SCENARIOS.flatMap((scenario) => ISOLATES.map((isolates) => ({ ...scenario, isolates })));
  const measured = scenarios.map(async (scenario) => {
    const { tier, limits = {} } = scenario;
    const { id, headers } = await issue(clients[0], { tier, limits });
    return { ...scenario, id, calls: await callAtGaps(clients, headers, scenario) };
  });
  const called = await Promise.all(measured);
  await delay(SETTLING_MS);
  const { objects, reads } = await clients[0].json("GET", "/bench/operations");
  await workerd.remove();
  return called.map((scenario) => ({ ...scenario, ...objects[scenario.id], reads: reads[`key:${scenario.id}`] ?? 0 }));
}

function dollars({ requests, rows, reads, cpuMicros }, calls) {
  const perCall = requests * (PRICE.object + PRICE.duration) + rows * PRICE.row + reads * PRICE.read;
  return PRICE.request + PRICE.cpuMs * (cpuMicros / 1000) + perCall / calls;
}

/** Prints the table. `cpu` has the microseconds of each kind of call. */
export function printCosts(counted, cpu) {
  console.log("\nDollars for a million calls at list prices, without logs (operations for each call)");
  console.log("| | isolates | object requests | rows | KV reads | stored, KB | $ | goal |\n|---|---|---|---|---|---|---|---|");
  const rows = [...counted.map((scenario) => ({ ...scenario, cpuMicros: cpu[scenario.cpu] ?? 500 })), ...USUAL];
  for (const row of rows) {
    const each = (count) => (count / row.calls).toFixed(2);
    const stored = row.bytes ? (row.bytes / 1000).toFixed(0) : "–";
    const cells = [row.name, row.isolates ?? "–", each(row.requests), each(row.rows), each(row.reads), stored, dollars(row, row.calls).toFixed(2), row.goal ? `≤ ${row.goal.toFixed(2)}` : "–"];
    console.log(`| ${cells.join(" | ")} |`);
  }
  const largest = Math.max(...counted.map(({ bytes }) => bytes));
  console.log(`Storage of a million keys in use, the largest of these each: $${((1e6 * largest * GB_MONTH) / 1e9).toFixed(2)} a month`);
}
