// Measures what reports cost about a page with many events, in workerd: the CPU time of a call, everything included, less
// that of a call for the totals of a page without events.
//   node tests/bench/analytics.mjs [--events 1000000] [--calls 15]
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { startEdge } from "../../scripts/edge/start.mjs";
import { SECRETS, cpuMicros } from "./worker.mjs";

const ROOT = path.resolve(import.meta.dirname, "../..");
const GROUPS = [
  "timeseries", "page", "link", "product", "qr_code", "referrer", "source", "channel", "country", "device", "browser", "os",
  "language", "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "bot_class",
];

const { values: options } = parseArgs({
  options: { events: { type: "string", default: "1000000" }, calls: { type: "string", default: "15" } },
});
const [events, calls] = [Number(options.events), Number(options.calls)];
if (!(events >= 1) || !(calls >= 1)) throw new Error("usage: analytics.mjs [--events N] [--calls N]");

/** The edge with its state in a folder. */
async function start(folder) {
  Object.assign(process.env, SECRETS);
  const silent = { log: () => {}, error: () => {} };
  const { edge, listening } = await startEdge(["--port", "0", "--state", folder, "--origin", "http://127.0.0.1:9"], silent);
  await listening;
  return edge;
}

async function call(edge, method, target, headers, body) {
  const response = await edge.dispatchFetch(`http://localhost${target}`, {
    method,
    headers: { ...headers, "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  if (response.status >= 300) throw new Error(`${method} ${target}: ${response.status} ${text}`);
  return JSON.parse(text);
}

/** Issues a key and publishes a page, whose store gets the events. Returns what calls send, and how much was stored. */
async function prepare(edge) {
  const holder = { email: "bench@example.com", name: "Bench", tier: "enterprise", biolink_plan: "business" };
  const key = await call(edge, "POST", "/v1/keys/issue", {}, { ...holder, admin_secret: SECRETS.ADMIN_SECRET });
  const headers = { "x-api-key": key.key };
  const [page, quiet] = [
    await call(edge, "POST", "/pages", headers, { title: "Bench", slug: "bench", status: "published" }),
    await call(edge, "POST", "/pages", headers, { title: "Quiet", slug: "quiet", status: "published" }),
  ];
  const stats = await edge.getDurableObjectNamespace("STATS", "pages");
  const store = stats.get(stats.idFromName(page.id));
  const program = spawn(
    "cargo", ["run", "--quiet", "--locked", "--bin", "events", "--", key.id, page.id, String(events), String(Date.now())],
    { cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] },
  );
  const ended = once(program, "exit");
  let messages = 0;
  for await (const line of createInterface({ input: program.stdout })) {
    const response = await store.fetch("http://object/", { method: "POST", body: line });
    if (!response.ok) throw new Error(`the store refuses events: ${await response.text()}`);
    messages += 1;
  }
  const [status] = await ended;
  if (status !== 0) throw new Error(`the events were not made: status ${status}`);
  return { headers, page: page.id, quiet: quiet.id, messages };
}

/** The bytes of the largest object on disk, that of the page with events: its file, and the log of what is not in it yet. */
function largestObject(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((file) => file.includes("Stats") && file.endsWith(".sqlite"));
  const size = (file) => statSync(path.join(folder, file), { throwIfNoEntry: false })?.size ?? 0;
  return Math.max(...files.map((file) => size(file) + size(`${file}-wal`)));
}

function workerd() {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").trim().split(" ");
  const found = children.find((pid) => readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("workerd"));
  if (!found) throw new Error("no workerd was started");
  return Number(found);
}

/** The CPU time of a report in milliseconds, its share in /proc's ticks, averaged over the calls. */
async function measure(edge, prepared, page, query) {
  const target = `/analytics?page_id=${page}&interval=30d${query}`;
  await call(edge, "GET", target, prepared.headers);
  const pid = workerd();
  const before = cpuMicros(pid);
  for (let nth = 0; nth < calls; nth += 1) await call(edge, "GET", target, prepared.headers);
  return (cpuMicros(pid) - before) / calls / 1000;
}

const folder = mkdtempSync(path.join(tmpdir(), "analytics-"));
const edge = await start(folder);
try {
  const prepared = await prepare(edge);
  const { totals } = await call(edge, "GET", `/analytics?page_id=${prepared.page}&interval=30d`, prepared.headers);
  console.log(`${events} events in ${prepared.messages} messages: ${JSON.stringify(totals)}`);
  console.log(`bytes for each event on disk, at most: ${(largestObject(folder) / events).toFixed(1)}`);
  const rest = await measure(edge, prepared, prepared.quiet, "&metrics=views");
  const table = { "page without events": { "CPU, ms": rest.toFixed(1) } };
  const add = async (name, query) => {
    table[name] = { "CPU, ms": ((await measure(edge, prepared, prepared.page, query)) - rest).toFixed(1) };
  };
  await add("totals without visitors", "&metrics=views,clicks");
  await add("totals with distinct visitors", "");
  for (const group of GROUPS) await add(`group ${group}`, `&metrics=${group === "bot_class" ? "bots" : "views,clicks"}&group_by=${group}`);
  await add("group country with distinct visitors", "&group_by=country");
  await add("four groups and a filter", "&metrics=views,clicks&group_by=link,country,device,referrer&country=US");
  console.table(table);
} finally {
  await edge.dispose();
  rmSync(folder, { recursive: true, force: true });
}
