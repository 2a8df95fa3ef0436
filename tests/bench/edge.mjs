// Measures the CPU time of workerd for one call. Several builds of the worker are measured in one run, in turns, each
// alone on core 0, with the client and the origin on the others.
//   node tests/bench/edge.mjs [--rounds 9] [--calls 1500] before=FOLDER after=FOLDER
// A folder is a checkout with a built worker in edge-worker/build. Without any, this checkout is measured.
import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { SECRETS, cpuMicros } from "./worker.mjs";

const ROOT = path.resolve(import.meta.dirname, "../..");
/** Bytes of a grant before its MAC (shared/src/grant.rs). */
const SIGNED_PART_OF_GRANT = 56;
/** Visitors of the page. One sends at most 60 events a minute that count. */
const VISITORS = 5000;
/** Calls before the first round: V8 has compiled what is hot. */
const WARM_UP = 2000;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: "string", default: "9" }, calls: { type: "string", default: "1500" } },
});
const rounds = Number(options.rounds);
const calls = Number(options.calls);
const builds = (positionals.length ? positionals : [`this=${ROOT}`]).map((text) => {
  const [name, folder] = text.split("=");
  if (!folder || !(rounds >= 1) || !(calls >= 1)) {
    throw new Error("usage: edge.mjs [--rounds N] [--calls N] NAME=FOLDER NAME=FOLDER");
  }
  return { name, folder: path.resolve(folder), micros: {} };
});

/** One connection to one worker: its calls follow each other, and what they cost is not hidden by waiting. */
class Client {
  constructor(port) {
    this.port = port;
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  }

  async send({ method = "GET", path, headers = {}, visitors = 0, body }) {
    const address = visitors ? { "cf-connecting-ip": this.nextAddress(visitors) } : {};
    const options = { host: "127.0.0.1", port: this.port, agent: this.agent, method, path };
    const request = http.request({ ...options, headers: { ...headers, ...address } });
    request.end(body);
    const [response] = await once(request, "response");
    const parts = [];
    for await (const part of response) parts.push(part);
    return { status: response.statusCode, body: Buffer.concat(parts).toString() };
  }

  /** An address of so many visitors in turns, so that none sends too many events to be counted. */
  nextAddress(visitors) {
    this.visitor = ((this.visitor ?? 0) + 1) % visitors;
    return `10.0.${this.visitor >> 8}.${this.visitor & 255}`;
  }

  async json(method, path, headers, body) {
    const sent = { method, path, headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) };
    const response = await this.send(sent);
    if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status} ${response.body}`);
    return JSON.parse(response.body);
  }
}

/** The proof that a proxy which holds the secret sends with a response (shared/src/proof.rs). */
function proofFor(grant) {
  const signed = Buffer.from(grant, "base64url").subarray(0, SIGNED_PART_OF_GRANT);
  const mac = createHmac("sha256", SECRETS.GRANT_SECRET).update("utg.grant.v1").update(signed).update("default").digest();
  return mac.subarray(16).toString("base64url");
}

/** Starts an origin that responds to each call of a tool at once, as a proxy does. */
async function startOrigin() {
  const server = http.createServer((request, response) => {
    request.resume();
    const proof = proofFor(request.headers["x-gateway-grant"]);
    response.writeHead(200, { "content-type": "application/json", "x-gateway-proof": proof });
    response.end('{"ok":true}');
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** Starts a build of the worker, keeps its workerd on core 0, and makes the calls that are measured there. */
async function start(build, origin) {
  const program = path.join(build.folder, "scripts/edge.mjs");
  const args = [program, "--port", "0", "--state", "memory", "--origin", `http://127.0.0.1:${origin.address().port}`];
  build.node = spawn("node", args, { env: { ...process.env, ...SECRETS }, stdio: ["ignore", "pipe", "inherit"] });
  const client = new Client(await listening(build.node));
  build.workerd = await childOf(build.node.pid);
  spawn("taskset", ["-a", "-c", "-p", "0", String(build.workerd)], { stdio: "ignore" });
  build.client = client;
  build.works = await prepare(client);
}

async function listening(child) {
  for await (const line of createInterface({ input: child.stdout })) {
    const found = /edge listening on http:\/\/\S+:(\d+)/.exec(line);
    if (found) return Number(found[1]);
  }
  throw new Error("the worker ended before it listened");
}

function childOf(pid) {
  const child = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0];
  if (!child) throw new Error("no workerd was started");
  return Number(child);
}

/** The calls that are measured, by name. */
async function prepare(client) {
  const holder = { email: "bench@example.com", name: "Bench", admin_secret: SECRETS.ADMIN_SECRET };
  const issued = await client.json("POST", "/v1/keys/issue", {}, { ...holder, tier: "enterprise", limits: { minute: 1e9 }, biolink_plan: "business" });
  const free = await client.json("POST", "/v1/keys/issue", {}, { ...holder, tier: "free", limits: { day: 1 } });
  const headers = { "x-api-key": issued.key };
  const links = [{ title: "Shop", url: "https://example.com/shop" }];
  const page = await client.json("POST", "/pages", headers, { title: "Bench", slug: "bench", status: "published", links });
  for (let call = 0; call < 2; call += 1) await client.send({ path: "/v1/qr/x", headers: { "x-api-key": free.key } });
  const post = { ...headers, "content-type": "application/json" };
  const person = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36" };
  return {
    "tool GET": { expected: 200, path: "/v1/qr/x", headers },
    "tool POST 1 KiB": { expected: 200, method: "POST", path: "/v1/qr/x", headers: post, body: JSON.stringify({ text: "x".repeat(1000) }) },
    "401": { expected: 401, path: "/v1/qr/x", headers: { "x-api-key": "nonsense" } },
    "429": { expected: 429, path: "/v1/qr/x", headers: { "x-api-key": free.key } },
    "page": { expected: 200, path: "/bench", headers: person, visitors: VISITORS },
    "redirect": { expected: 302, path: `/bench/l/${page.links[0].id}`, headers: person, visitors: VISITORS },
  };
}

async function repeat(client, work, times) {
  for (let call = 0; call < times; call += 1) {
    const { status } = await client.send(work);
    if (status !== work.expected) throw new Error(`${work.path}: ${status} instead of ${work.expected}`);
  }
}

/** Measures one kind of call once, and keeps what it took. */
async function measure(build, name, counted) {
  const before = cpuMicros(build.workerd);
  await repeat(build.client, build.works[name], calls);
  const each = (cpuMicros(build.workerd) - before) / calls;
  if (counted) (build.micros[name] ??= []).push(each);
}

function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

function row(build, name) {
  const values = build.micros[name];
  const ratio = median(values) / median(builds[0].micros[name]);
  return { median: median(values).toFixed(0), least: Math.min(...values).toFixed(0), most: Math.max(...values).toFixed(0), [`ratio to ${builds[0].name}`]: ratio.toFixed(3) };
}

const origin = await startOrigin();
try {
  for (const build of builds) await start(build, origin);
  spawn("taskset", ["-a", "-c", "-p", "1", String(process.pid)], { stdio: "ignore" });
  const names = Object.keys(builds[0].works);
  for (const build of builds) for (const name of names) await repeat(build.client, build.works[name], Math.min(WARM_UP, calls));
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) {
      // Each goes first in every second round.
      for (const build of round % 2 ? [...builds].reverse() : builds) await measure(build, name, true);
    }
  }
  console.log(`CPU time of workerd for each call, in microseconds: ${rounds} rounds of ${calls} calls.`);
  for (const name of names) console.table(Object.fromEntries(builds.map((build) => [`${name}: ${build.name}`, row(build, name)])));
} finally {
  for (const build of builds) build.node?.kill("SIGTERM");
  origin.close();
}
