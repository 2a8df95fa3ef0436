// Runs a worker in a workerd of its own, without miniflare's own workers around it: its CPU time is that of the worker and
// the runtime alone. Ours are the gateway and the worker of pages, with the bindings of their files of wrangler. The JavaScript
// workers beside them have the same compatibility date, KV and a class of objects.
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

/** One of our workers as it is built in a checkout. An object of a class that has an owner is another worker's. */
function built(file) {
  const { workerOptions, main } = workerOptionsOf(file);
  const { kvNamespaces, durableObjects, queueProducers = {}, bindings } = workerOptions;
  const objects = Object.entries(durableObjects);
  const classes = Object.fromEntries(objects.map(([binding, { className }]) => [binding, className]));
  const foreign = objects.filter(([, { scriptName }]) => scriptName).map(([binding]) => binding);
  const parts = readdirSync(path.dirname(main)).filter((part) => /\.(js|wasm)$/.test(part));
  const modules = parts.map((part) => [part, path.join(path.dirname(main), part)]);
  return { main: path.basename(main), modules, classes, foreign, kv: Object.keys(kvNamespaces), queues: Object.keys(queueProducers), bindings };
}

/** Our edge as it is built in a checkout: the gateway, with the worker of pages unless the checkout has one worker for all. */
export function gateway(name, folder = ROOT) {
  const pages = path.join(folder, "wrangler.pages.toml");
  return { name, hasPages: true, ...built(path.join(folder, "wrangler.toml")), pages: existsSync(pages) ? built(pages) : undefined };
}

/** The gateway without the worker of pages. */
export const alone = (worker) => ({ ...worker, hasPages: false, pages: undefined });

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
    this.sockets = isolates + (worker.pages ? 1 : 0);
    this.listens = flags.length > 0;
    this.log = "";
    this.isolates = isolates;
  }

  /** Starts the process. Resolves once it listens. */
  async start() {
    this.child = spawn(WORKERD, ["serve", "--binary", this.file, "--control-fd=3"], { stdio: ["ignore", this.listens ? "pipe" : "ignore", "ignore", "pipe"] });
    running.add(this.child);
    this.child.stdout?.on("data", (text) => (this.log += text));
    const ports = await listening(this.child, this.sockets);
    this.ports = Array.from({ length: this.isolates }, (_, place) => ports.get(service(place)));
    [this.port] = this.ports;
    this.pagesPort = ports.get("pages");
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

/** The service of an isolate of the gateway. */
const service = (place) => (place ? `edge${place}` : "edge");

/** The modules of a worker, in the folder, the main one first. */
function embedded({ main, modules }, name, folder) {
  const first = modules.filter(([module]) => module === main);
  const files = [...first, ...modules.filter(([module]) => module !== main)];
  return files.map(([module, file]) => {
    const copy = `${name}-${module}`;
    writeFileSync(path.join(folder, copy), readFileSync(file));
    return `(name = ${quoted(module)}, ${module.endsWith(".wasm") ? "wasm" : "esModule"} = embed ${quoted(copy)})`;
  });
}

/** A worker as a service. Its own objects are those of the service `owner`, and the others are those of `other`. */
function serviceOf(worker, modules, { name, owner, other, origin }) {
  const { classes, foreign = [], kv, queues, bindings } = worker;
  const texts = { ...bindings, ...SECRETS, ORIGIN_URLS: origin, ALLOW_PRIVATE_FETCH: "1" };
  const own = Object.entries(classes).filter(([binding]) => !foreign.includes(binding));
  const objects = (of, all) => all.map(([binding, className]) => {
    const object = of === name ? quoted(className) : `(className = ${quoted(className)}, serviceName = ${quoted(of)})`;
    return `(name = ${quoted(binding)}, durableObjectNamespace = ${object})`;
  });
  const stored = [...new Set(own.map(([, className]) => className))];
  return `const ${name} :Workerd.Worker = (
  modules = [${modules}],
  compatibilityDate = ${quoted(platform.compatibilityDate)},
  compatibilityFlags = [${platform.compatibilityFlags.map(quoted)}],
  globalOutbound = "internet",
  bindings = [
    ${[
      ...kv.map((binding) => `(name = ${quoted(binding)}, kvNamespace = "kv")`),
      ...objects(owner, own),
      ...(other ? objects(other, foreign.map((binding) => [binding, classes[binding]])) : []),
      ...(other === "pages" ? [`(name = "PAGES_WORKER", service = "pages")`] : []),
      ...queues.map((binding) => `(name = ${quoted(binding)}, queue = "kv")`),
      ...Object.entries(texts).map(([binding, text]) => `(name = ${quoted(binding)}, text = ${quoted(String(text))})`),
    ].join(",\n    ")}
  ],
  ${name === owner ? `durableObjectNamespaces = [${stored.map((className) => `(className = ${quoted(className)}, uniqueKey = ${quoted(className)}, enableSql = true)`)}],
  durableObjectStorage = (localDisk = "objects"),` : ""}
);`;
}

function configuration(worker, folder, origin = "http://127.0.0.1:9", isolates = 1, flags = []) {
  writeFileSync(path.join(folder, "kv-service.js"), readFileSync(path.join(WORKERS, "kv.js")));
  const names = Array.from({ length: isolates }, (_, place) => service(place));
  const modules = embedded(worker, "edge", folder);
  const workers = names.map((name) => serviceOf(worker, modules, { name, owner: "edge", other: worker.pages && "pages", origin }));
  if (worker.pages) {
    const pages = embedded(worker.pages, "pages", folder);
    workers.push(serviceOf(worker.pages, pages, { name: "pages", owner: "pages", other: "edge", origin }));
    names.push("pages");
  }
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  v8Flags = [${flags.map(quoted)}],
  services = [
    ${names.map((name) => `(name = ${quoted(name)}, worker = .${name}),`).join("\n    ")}
    (name = "kv", worker = .kv),
    (name = "objects", disk = (path = ${quoted(folder)}, writable = true)),
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [${names.map((name) => `(name = ${quoted(name)}, address = "127.0.0.1:0", http = (), service = ${quoted(name)})`)}],
);
${workers.join("\n")}
const kv :Workerd.Worker = (modules = [(name = "kv.js", esModule = embed "kv-service.js")], compatibilityDate = ${quoted(platform.compatibilityDate)});
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

/** Resolves to the ports by socket, once so many listen. */
async function listening(child, count) {
  const ports = new Map();
  for await (const line of createInterface({ input: child.stdio[3] })) {
    const { event, socket, port } = JSON.parse(line);
    if (event === "listen") ports.set(socket, port);
    if (ports.size === count) return ports;
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
