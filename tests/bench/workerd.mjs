// Runs a worker in a workerd of its own, without miniflare's own workers around it: its CPU time is that of the worker and
// the runtime alone. Our worker has the bindings of its wrangler.toml. The JavaScript workers beside it have the same
// compatibility date, KV and a class of objects.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { unstable_getMiniflareWorkerOptions as workerOptionsOf } from "wrangler";
import { SECRETS } from "./worker.mjs";

const ROOT = path.resolve(import.meta.dirname, "../..");
const WORKERS = path.join(import.meta.dirname, "workers");
/** The program itself: `workerd/bin/workerd` may be a script that starts it. */
const WORKERD = createRequire(import.meta.url)("workerd").default;

/** A file system in memory: what the disk does is not the worker's. */
const MEMORY = "/dev/shm";

const running = new Set();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

const quoted = (text) => JSON.stringify(text);
const platform = workerOptionsOf(path.join(ROOT, "wrangler.toml")).workerOptions;

/** Our worker as it is built in a checkout. */
export function gateway(name, folder = ROOT) {
  const { workerOptions, main } = workerOptionsOf(path.join(folder, "wrangler.toml"));
  const { kvNamespaces, durableObjects, queueProducers = {}, bindings } = workerOptions;
  const classes = Object.fromEntries(Object.entries(durableObjects).map(([binding, { className }]) => [binding, className]));
  const parts = readdirSync(path.dirname(main)).filter((file) => /\.(js|wasm)$/.test(file));
  const modules = parts.map((file) => [file, path.join(path.dirname(main), file)]);
  return { name, main: path.basename(main), modules, classes, kv: Object.keys(kvNamespaces), queues: Object.keys(queueProducers), bindings };
}

/** One of the JavaScript workers of this folder. */
export function javascript(name, file, classes = { METER: "Meter" }) {
  const modules = [...new Set([file, "gateway.js", "lease.js", "grant.js"])].map((part) => [part, path.join(WORKERS, part)]);
  return { name, main: file, modules, classes, kv: ["KEYS"], queues: [], bindings: {} };
}

/** A worker of wasm that needs no bindings. */
export function wasm(name, folder) {
  const modules = ["index.js", "index_bg.wasm"].map((part) => [part, path.join(folder, part)]);
  return { name, main: "index.js", modules, classes: {}, kv: [], queues: [], bindings: {} };
}

/** Our worker behind one that counts what it costs. */
export function counting(worker) {
  const modules = [["counting.js", path.join(WORKERS, "counting.js")], ["main.js", worker.modules.find(([name]) => name === worker.main)[1]]];
  return { ...worker, main: "counting.js", modules: [...modules, ...worker.modules.filter(([name]) => name !== worker.main)] };
}

/** A workerd that runs one worker, in so many isolates. The first one has the objects. `log` has what V8's flags make it say. */
export class Workerd {
  constructor(worker, origin, isolates = 1, flags = []) {
    this.name = worker.name;
    this.folder = mkdtempSync(path.join(existsSync(MEMORY) ? MEMORY : tmpdir(), "bench-workerd-"));
    this.file = path.join(this.folder, "config.bin");
    writeFileSync(this.file, compiled(configuration(worker, this.folder, origin, isolates, flags), this.folder));
    this.listens = flags.length > 0;
    this.log = "";
    this.isolates = isolates;
  }

  /** Starts the process. Resolves once it listens. */
  async start() {
    this.child = spawn(WORKERD, ["serve", "--binary", this.file, "--control-fd=3"], { stdio: ["ignore", this.listens ? "pipe" : "ignore", "ignore", "pipe"] });
    running.add(this.child);
    this.child.stdout?.on("data", (text) => (this.log += text));
    this.ports = await listening(this.child, this.isolates);
    [this.port] = this.ports;
    return this;
  }

  pin(core) {
    spawn("taskset", ["-a", "-c", "-p", String(core), String(this.child.pid)], { stdio: "ignore" });
  }

  /** The CPU time of all threads so far, in microseconds. */
  cpuMicros() {
    const tasks = `/proc/${this.child.pid}/task`;
    const nanos = readdirSync(tasks).map((task) => Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]));
    return nanos.reduce((sum, each) => sum + each, 0) / 1000;
  }

  residentMiB() {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.child.pid}/status`, "utf8"))[1]) / 1024;
  }

  async stop() {
    if (!this.child) return;
    const ended = once(this.child, "exit");
    this.child.kill("SIGKILL");
    await ended;
    running.delete(this.child);
    this.child = undefined;
  }

  async remove() {
    await this.stop();
    rmSync(this.folder, { recursive: true });
  }
}

function configuration({ main, modules, classes, kv, queues, bindings }, folder, origin = "http://127.0.0.1:9", isolates = 1, flags = []) {
  const copied = modules.map(([name, file]) => {
    writeFileSync(path.join(folder, name), readFileSync(file));
    return [name, name.endsWith(".wasm") ? "wasm" : "esModule"];
  });
  const first = copied.filter(([name]) => name === main);
  const files = [...first, ...copied.filter(([name]) => name !== main)];
  writeFileSync(path.join(folder, "kv-service.js"), readFileSync(path.join(WORKERS, "kv.js")));
  const texts = { ...bindings, ...SECRETS, ORIGIN_URLS: origin, ALLOW_PRIVATE_FETCH: "1" };
  const names = [...new Set(Object.values(classes))];
  const date = `compatibilityDate = ${quoted(platform.compatibilityDate)}`;
  const services = Array.from({ length: isolates }, (_, place) => (place ? `edge${place}` : "edge"));
  const objectBinding = (service) => ([binding, name]) => {
    const elsewhere = service === "edge" ? quoted(name) : `(className = ${quoted(name)}, serviceName = "edge")`;
    return `(name = ${quoted(binding)}, durableObjectNamespace = ${elsewhere})`;
  };
  const worker = (service) => `const ${service} :Workerd.Worker = (
  modules = [${files.map(([name, kind]) => `(name = ${quoted(name)}, ${kind} = embed ${quoted(name)})`).join(", ")}],
  ${date},
  compatibilityFlags = [${platform.compatibilityFlags.map(quoted)}],
  globalOutbound = "internet",
  bindings = [
    ${[
      ...kv.map((binding) => `(name = ${quoted(binding)}, kvNamespace = "kv")`),
      ...Object.entries(classes).map(objectBinding(service)),
      ...queues.map((binding) => `(name = ${quoted(binding)}, queue = "kv")`),
      ...Object.entries(texts).map(([binding, text]) => `(name = ${quoted(binding)}, text = ${quoted(String(text))})`),
    ].join(",\n    ")}
  ],
  ${service === "edge" ? `durableObjectNamespaces = [${names.map((name) => `(className = ${quoted(name)}, uniqueKey = ${quoted(name)}, enableSql = true)`)}],
  durableObjectStorage = (localDisk = "objects"),` : ""}
);`;
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  v8Flags = [${flags.map(quoted)}],
  services = [
    ${services.map((service) => `(name = ${quoted(service)}, worker = .${service}),`).join("\n    ")}
    (name = "kv", worker = .kv),
    (name = "objects", disk = (path = ${quoted(folder)}, writable = true)),
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [${services.map((service) => `(name = ${quoted(service)}, address = "127.0.0.1:0", http = (), service = ${quoted(service)})`)}],
);
${services.map(worker).join("\n")}
const kv :Workerd.Worker = (modules = [(name = "kv.js", esModule = embed "kv-service.js")], ${date});
`;
}

/** The configuration in the binary form in which tools start workerd. From the text, workerd would copy each module three times. */
function compiled(text, folder) {
  const file = path.join(folder, "config.capnp");
  writeFileSync(file, text);
  const { status, stdout, stderr } = spawnSync(WORKERD, ["compile", "--config-only", file], { maxBuffer: 64 << 20 });
  if (status !== 0) throw new Error(`workerd does not compile its configuration: ${stderr}`);
  return stdout;
}

/** Resolves to the ports of the isolates, in their order. */
async function listening(child, isolates) {
  const ports = new Map();
  for await (const line of createInterface({ input: child.stdio[3] })) {
    const { event, socket, port } = JSON.parse(line);
    if (event === "listen") ports.set(Number(socket.slice("edge".length)), port);
    if (ports.size === isolates) return Array.from({ length: isolates }, (_, place) => ports.get(place));
  }
  throw new Error("workerd ended before it listened");
}

/** Connections to one worker. */
export class Client {
  constructor(port, connections = 1) {
    this.port = port;
    // workerd closes a connection that is idle for 5 seconds, and a call that is sent just then fails.
    this.agent = new http.Agent({ keepAlive: true, maxSockets: connections, timeout: 3000 });
  }

  async send({ method = "GET", path: target, headers = {}, body }) {
    const request = http.request({ host: "127.0.0.1", port: this.port, agent: this.agent, method, path: target, headers });
    request.end(body);
    const [response] = await once(request, "response");
    const parts = [];
    for await (const part of response) parts.push(part);
    return { status: response.statusCode, body: Buffer.concat(parts).toString() };
  }

  async json(method, target, headers, body) {
    const sent = { method, path: target, headers: { ...headers, "content-type": "application/json" }, body: body && JSON.stringify(body) };
    const response = await this.send(sent);
    if (response.status >= 300) throw new Error(`${method} ${target}: ${response.status} ${response.body}`);
    return JSON.parse(response.body);
  }
}
