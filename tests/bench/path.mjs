// Measures the whole path of a call, so that a change that moves cost from one part to another shows:
// client → edge → proxy → tool beside client → lease.js → nginx → tool.
//   node tests/bench/path.mjs [--rounds 7] [--most-rounds 21] [--calls 2000] [--programs target/release] [NAME=FOLDER …]
// A folder is a checkout with a built worker in edge-worker/build. Edge and proxy are on core 0, client and tool on core 1.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { isCertain, printRatios } from "./figures.mjs";
import { prepare } from "./scenarios.mjs";
import { SECRETS } from "./worker.mjs";
import { Client, Workerd, gateway, javascript } from "./workerd.mjs";

const ROOT = path.resolve(import.meta.dirname, "../..");
const CONNECTIONS = 16;
/** Calls before the first round: V8 has compiled what is hot. */
const WARM_UP = 12_000;
const WORKS = ["GET", "POST 1 KiB"];
const PATIENCE_MS = 20_000;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "7" },
    "most-rounds": { type: "string", default: "21" },
    "most-minutes": { type: "string", default: "30" },
    calls: { type: "string", default: "2000" },
    programs: { type: "string", default: path.join(ROOT, "target/release") },
  },
});
const [rounds, calls] = [Number(options.rounds), Number(options.calls)];
/** For calls whose ratios stay uncertain. */
const mostRounds = Math.max(rounds, Number(options["most-rounds"]));
/** After it nothing has more rounds than `rounds`. */
const deadline = performance.now() + 60_000 * Number(options["most-minutes"]);
const builds = (positionals.length ? positionals : [`ours=${ROOT}`]).map((text) => {
  const [name, folder] = text.split("=");
  if (!folder || !(rounds >= 1) || !(calls >= 1)) throw new Error("usage: path.mjs [--rounds N] [--most-rounds N] [--most-minutes N] [--calls N] [--programs FOLDER] [NAME=FOLDER …]");
  return gateway(name, path.resolve(folder));
});
const folder = mkdtempSync(path.join(tmpdir(), "bench-path-"));
const running = [];
process.on("exit", () => {
  running.forEach((child) => child.kill("SIGKILL"));
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a program on core 0. Its output, access log included, goes to a file. */
function start(program, args, env = {}) {
  const log = path.join(folder, `${path.basename(program)}.log`);
  const out = openSync(log, "w");
  const child = spawn("taskset", ["-c", "0", program, ...args], { env: { ...process.env, ...env }, stdio: ["ignore", out, out] });
  running.push(child);
  child.on("exit", (code) => {
    console.error(`${program} ended: ${code}\n${readFileSync(log, "utf8")}`);
    process.exit(1);
  });
  return { child, log };
}

/** The CPU time of all threads of a process so far, in microseconds. */
function cpuMicros(pid) {
  const tasks = `/proc/${pid}/task`;
  const nanos = readdirSync(tasks).map((task) => Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]));
  return nanos.reduce((sum, each) => sum + each, 0) / 1000;
}

/** Waits until `attempt` returns something other than `undefined`. */
async function eventually(what, attempt) {
  for (const started = performance.now(); performance.now() - started < PATIENCE_MS; ) {
    const value = await attempt();
    if (value !== undefined) return value;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`${what} does not respond`);
}

/** Starts our proxy in front of the tool. */
async function startProxy(tool) {
  const file = path.join(folder, "proxy.toml");
  const sample = readFileSync(path.join(ROOT, "conf/proxy.edge.toml"), "utf8");
  const pools = [...sample.matchAll(/^\[pools\.(\w+)\]/gm)].map(([, name]) => `${name}.upstreams = ["127.0.0.1:${tool}"]\n`);
  const config = `[server]\nlisten = "127.0.0.1:0"\nadmin = "127.0.0.1:0"\nthreads = 1\n\n[grants]\nsecret = "\${GRANT_SECRET}"\n\n`;
  writeFileSync(file, `${config}[clients]\nconnections_per_address = 10_000\n\n[pools]\n${pools.join("")}`);
  const { child, log } = start(path.join(options.programs, "proxy"), ["-c", file], { GRANT_SECRET: SECRETS.GRANT_SECRET });
  const line = await eventually("the proxy", () => /^\{.*\}$/m.exec(readFileSync(log, "utf8"))?.[0]);
  const { listen, admin } = JSON.parse(line);
  await eventually("the proxy", async () => ((await fetch(`http://${admin}/readyz`)).status === 200 ? listen : undefined));
  return { name: "proxy", child, url: `http://${listen}` };
}

/** Returns a port that is free now. */
async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** Starts nginx in front of the tool. It lets pass who knows the secret. */
async function startNginx(tool) {
  const [port, file] = [await freePort(), path.join(folder, "nginx.conf")];
  writeFileSync(file, `daemon off; master_process off; pid ${folder}/nginx.pid; error_log ${folder}/error.log warn;
events { worker_connections 4096; }
http {
  access_log ${folder}/access.log combined buffer=64k flush=1s;
  ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(" ")}
  keepalive_requests 1000000000;
  upstream tool { server 127.0.0.1:${tool}; keepalive 64; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      if ($http_authorization != "${SECRETS.GRANT_SECRET}") { return 403; }
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Authorization "";
      proxy_set_header X-Request-Id $request_id;
      proxy_pass http://tool;
    }
  }
}
`);
  const { child } = start("nginx", ["-p", folder, "-c", file]);
  const url = `http://127.0.0.1:${port}`;
  await eventually("nginx", () => fetch(url).then(() => url, () => undefined));
  return { name: "nginx", child, url };
}

/** Starts a tool that responds at once. */
async function startTool() {
  const tool = http.createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "application/json" });
    response.end('{"ok":true}');
  });
  tool.keepAliveTimeout = 60_000;
  tool.listen(0, "127.0.0.1");
  await once(tool, "listening");
  return tool;
}

/** Starts a worker, whose origin it is given, on core 0. */
async function startPath(worker, origin) {
  const workerd = await new Workerd(worker, origin.url).start();
  workerd.pin(0);
  const client = new Client(workerd.port, CONNECTIONS);
  return { name: `${worker.name} + ${origin.name}`, workerd, origin, client, works: await prepare(worker, client), values: {} };
}

async function callOnce(peer, work) {
  const { status, body } = await peer.client.send(work);
  if (status !== work.expected) throw new Error(`${peer.name}, ${work.path}: ${status} instead of ${work.expected}: ${body}`);
}

/** Sends so many calls, of which some are always in flight. */
async function repeat(peer, work, times) {
  let left = times;
  const next = async () => {
    while (left-- > 0) await callOnce(peer, work);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, next));
}

/** Sends so many calls at fixed gaps. Returns their latencies in microseconds, sorted, from the time at which each was due. */
async function latenciesAt(peer, work, times, gapMicros) {
  const begun = performance.now();
  const pending = [];
  for (let sent = 0; sent < times; ) {
    const due = begun + (sent * gapMicros) / 1000;
    if (performance.now() >= due) {
      pending.push(callOnce(peer, work).then(() => (performance.now() - due) * 1000));
      sent += 1;
    }
    // Timers have a resolution of 1 ms.
    await new Promise(setImmediate);
  }
  return (await Promise.all(pending)).sort((a, b) => a - b);
}

const cpuOf = ({ workerd, origin }) => [workerd.cpuMicros(), cpuMicros(origin.child.pid)];

async function measure(peer, name) {
  const work = peer.works[name];
  const add = (row, value) => (peer.values[`${name}: ${row}`] ??= []).push(value);
  const before = cpuOf(peer);
  await repeat(peer, work, calls);
  const [edge, proxy] = cpuOf(peer).map((after, part) => (after - before[part]) / calls);
  add("worker, µs", edge);
  add("proxy, µs", proxy);
  add("both, µs", edge + proxy);
  const latencies = await latenciesAt(peer, work, calls, 2 * (edge + proxy));
  add("half load, p50, µs", latencies[Math.floor(calls * 0.5)]);
  add("half load, p99, µs", latencies[Math.floor(calls * 0.99)]);
}

const tool = await startTool();
spawnSync("taskset", ["-a", "-c", "-p", "1", String(process.pid)], { stdio: "ignore" });
const { port } = tool.address();
const [proxy, nginx] = [await startProxy(port), await startNginx(port)];
const peers = [];
for (const build of builds) peers.push(await startPath(build, proxy));
peers.push(await startPath(javascript("lease.js", "lease.js"), nginx));
for (const name of WORKS) for (const peer of peers) await repeat(peer, peer.works[name], WARM_UP / WORKS.length);
const valuesOf = (peer, name) => peer.values[name];
// Latencies vary more than any number of rounds evens out.
const isDone = (name) => ["worker, µs", "proxy, µs", "both, µs"].every((row) => isCertain(`${name}: ${row}`, peers, valuesOf));
for (let round = 0; round < mostRounds; round += 1) {
  for (const name of WORKS) {
    if (round >= rounds && (performance.now() > deadline || isDone(name))) continue;
    for (const peer of round % 2 ? [...peers].reverse() : peers) await measure(peer, name);
  }
}
console.log(`CPU time for each call, and latency at half load: median of ${rounds} to ${mostRounds} rounds of ${calls} calls, in brackets ours ÷ theirs and its interval of 95 %`);
printRatios(Object.keys(peers[0].values), peers, valuesOf);
for (const { workerd } of peers) await workerd.remove();
running.forEach((child) => child.removeAllListeners("exit"));
process.exit(0);
