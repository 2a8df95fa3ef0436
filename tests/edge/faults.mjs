// Stands between the workers and their bindings, so that a test decides what becomes of each operation and counts them.
// What passes goes to the real KV and the real objects; nothing is played.

import path from "node:path";

/**
 * The table of faults: each kind of binding with the operations that the worker uses, times each fate of an operation. The
 * worker looks at the name of a binding's class, so each has the real one's. The control server is asked as
 * `/BINDING/OPERATION`. It gets the messages to the queue too.
 */
const FAULTS = (kinds) => `
const after = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const created = new Map();

/** A binding whose class the worker knows. \`absent\` is what the caller sees of an operation that is left out. */
class Binding {
  constructor(env, name) { Object.assign(this, { server: env.CONTROL, name, real: env[name] }); }

  control(step, message) {
    return this.server.fetch("http://control/" + this.name + "/" + step, message && { method: "POST", body: message });
  }

  async use(operation, run, { absent, message, object } = {}) {
    const [fate, ms] = (await (await this.control(operation, message)).text()).split(" ");
    if (fate === "absent") return absent;
    if (fate === "fail") throw new Error(this.name + " fails, as the test wants it");
    if (fate === "overloaded") throw Object.assign(new Error("the object is overloaded"), { overloaded: true });
    if (fate === "hang") return new Promise(() => {});
    if (fate === "create") {
      if (!created.has(object.name)) created.set(object.name, Date.now() + Number(ms));
      await after(created.get(object.name) - Date.now());
    }
    if (fate === "far") await after(ms / 2);
    if (fate === "late") await after(ms);
    if (fate === "restart") await object.fetch("http://object/restart").catch(() => {});
    const result = await run();
    if (fate === "far") await after(ms / 2);
    if (fate === "late" || fate === "lose") await this.control("done");
    if (fate === "lose") throw new Error("the reply of " + this.name + " is lost, as the test wants it");
    return result;
  }
}

class Namespace extends Binding {
  get(...args) { return this.use("get", () => this.real.get(...args), { absent: null }); }
  put(...args) { return this.use("put", () => this.real.put(...args)); }
  list(...args) { return this.use("list", () => this.real.list(...args)); }
  delete(...args) { return this.use("delete", () => this.real.delete(...args)); }
}

class DurableObjectNamespace extends Binding {
  getByName(name) {
    const object = () => this.real.getByName(name);
    return { fetch: (...args) => this.use("fetch", () => object().fetch(...args), { object: object() }) };
  }
}

class R2Bucket extends Binding {
  get(...args) { return this.use("get", () => this.real.get(...args), { absent: null }); }
  head(...args) { return this.use("head", () => this.real.head(...args), { absent: null }); }
  put(...args) { return this.use("put", () => this.real.put(...args)); }
  delete(...args) { return this.use("delete", () => this.real.delete(...args)); }
}

class WorkerQueue extends Binding {
  send(body, options) { return this.use("send", () => this.real.send(body, options), { message: body }); }
}

class Fetcher extends Binding {
  fetch(...args) {
    return this.use("fetch", () => this.real.fetch(...args), { absent: new Response("absent, as the test wants it", { status: 404 }) });
  }
}

const KINDS = { kvNamespaces: Namespace, durableObjects: DurableObjectNamespace, r2Buckets: R2Bucket, queueProducers: WorkerQueue, fetchers: Fetcher };
const bindings = Object.entries(${JSON.stringify(kinds)}).flatMap(([kind, names]) => names.map((name) => [name, KINDS[kind]]));
const envs = new WeakMap();

export function faulty(env) {
  if (!envs.has(env)) envs.set(env, { ...env, ...Object.fromEntries(bindings.map(([name, Kind]) => [name, new Kind(env, name)])) });
  return envs.get(env);
}
`;

/** Makes the next request trap within wasm: it is given a head outside of the memory. */
const TRAP = `
let isNext = false;
export const trap = () => { isNext = true; };

const { Instance } = WebAssembly;
WebAssembly.Instance = function (...args) {
  const { handle, ...others } = new Instance(...args).exports;
  return { exports: { ...others, handle(head, ...rest) {
    const given = isNext ? -16 : head;
    isNext = false;
    return handle(given, ...rest);
  } } };
};
`;

/** Counts the abort controllers that the worker makes. */
const CONTROLLERS = `
let made = 0;
export const controllers = () => made;

globalThis.AbortController = class extends AbortController {
  constructor() { super(); made += 1; }
};
`;

/**
 * A worker as it was built, with objects that can be restarted: the object is gone and its memory with it. Routes of its own
 * pass by the faults. Those of bindings that the gateway lacks are the other worker's:
 *   GET /test/trap                      a request that traps within wasm, as a panic does
 *   GET /test/controllers               how many abort controllers the worker has made
 *   POST /test/queue                    a batch of messages `[{id, timestamp, body}]`; shows which come again
 *   GET /test/use/BINDING/OPERATION     an operation of a binding with its faults; shows what an object responds
 *   POST /test/OBJECT/NAME              a message to an object, by the binding of its class
 *   GET /test/OBJECT/NAME/instance      which instance it is
 *   GET /test/OBJECT/NAME/restart       restarts it from what it has stored
 *   POST /test/OBJECT/NAME/sql          a statement in its store; shows the rows, with blobs in base64
 *   GET or PUT /test/OBJECT/NAME/alarm  the moment of its alarm, or null
 *   POST /test/OBJECT/NAME/alarm        runs the alarm now
 */
const RESTARTABLE = (classes) => `
import { WorkerEntrypoint } from "cloudflare:workers";
import { controllers } from "./controllers.js";
import { faulty } from "./faults.js";
import { trap } from "./trap.js";
import Worker, * as built from "./index.js";
export * from "./index.js";

const shown = (value) => value instanceof ArrayBuffer ? new Uint8Array(value).toBase64() : value;

const restartable = (Real) => class {
  instance = crypto.randomUUID();
  constructor(state, env) { this.state = state; this.real = new Real(state, faulty(env)); }
  async fetch(request) {
    const { storage } = this.state;
    switch (request.method + new URL(request.url).pathname) {
      case "GET/instance": return new Response(this.instance);
      case "GET/restart": return this.state.abort("the test restarts the object");
      case "POST/sql": return Response.json(storage.sql.exec(await request.text()).raw().toArray().map((row) => row.map(shown)));
      case "GET/alarm": return Response.json(await storage.getAlarm());
      case "PUT/alarm": return Response.json(await storage.setAlarm(Number(await request.text())) ?? null);
      case "POST/alarm": return this.real.alarm();
      default: return this.real.fetch(request);
    }
  }
  alarm() { return this.real.alarm(); }
};
${classes.map((name) => `export const ${name} = restartable(built.${name});`).join("\n")}

const ARGUMENTS = { get: ["used"], put: ["used", ""], head: ["used"], list: [], delete: ["used"], send: ["used"], fetch: ["http://object/instance"] };
const use = async (binding, operation) => {
  const used = await (binding.getByName?.("used") ?? binding)[operation](...ARGUMENTS[operation]);
  return new Response(used instanceof Response ? await used.text() : "");
};

/** The binding that a route is about, of which the gateway has some and the other worker the rest. */
const bindingOf = (env, binding, name) => (binding === "queue" ? env.TEST_QUEUE : env[binding === "use" ? name : binding]);

export default class extends WorkerEntrypoint {
  async fetch(request) {
    const [, test, binding, name, step = ""] = new URL(request.url).pathname.split("/");
    if (test === "test" && binding === "trap") trap();
    if (test !== "test" || binding === "trap") return Worker.fetch(request, faulty(this.env), this.ctx);
    if (binding === "controllers") return new Response(controllers());
    if (!bindingOf(this.env, binding, name)) return this.env.PAGES_WORKER.fetch(request);
    if (binding === "use") return use(faulty(this.env)[name], step);
    if (binding !== "queue") return this.env[binding].getByName(name).fetch(new Request("http://object/" + step, request));
    const messages = (await request.json()).map((message) => ({ ...message, timestamp: new Date(message.timestamp), attempts: 1 }));
    return Response.json(await this.env.TEST_QUEUE.queue("events", messages));
  }
  queue(batch) { return Worker.queue(batch, faulty(this.env), this.ctx); }
}
`;

/** The workers with their bindings behind the control server at `url`. Messages of the queue arrive without delay. */
export function withFaults(workers, url) {
  return workers.map((worker) => withFaultsOf(worker, { external: { address: new URL(url).host, http: {} } }));
}

function withFaultsOf(worker, control) {
  const { name, kvNamespaces, durableObjects, queueProducers, r2Buckets, serviceBindings } = worker;
  const consumes = Object.keys(worker.queueConsumers ?? {}).length > 0;
  const { ASSETS, PAGES_WORKER } = serviceBindings;
  const fetchers = { ASSETS, ...(PAGES_WORKER && { PAGES_WORKER }) };
  const kinds = { kvNamespaces, durableObjects, queueProducers, r2Buckets, fetchers };
  const names = Object.fromEntries(Object.entries(kinds).map(([kind, bindings]) => [kind, Object.keys(bindings ?? {})]));
  return {
    ...restartable(worker, names),
    compatibilityFlags: [...worker.compatibilityFlags, "service_binding_extra_handlers"],
    // To call the consumer of the queue as the platform does.
    serviceBindings: { ...serviceBindings, ...(consumes && { TEST_QUEUE: name }), CONTROL: control },
  };
}

/** A worker with routes and objects for tests. `kinds` has the names of those bindings that have faults. */
function restartable(worker, kinds) {
  const folder = worker.modulesRoot;
  const classes = Object.values(worker.durableObjects).map(({ className }) => className);
  const hasty = ([name, options]) => [name, { ...options, maxBatchTimeout: 0 }];
  return {
    ...worker,
    queueConsumers: Object.fromEntries(Object.entries(worker.queueConsumers ?? {}).map(hasty)),
    modules: [
      { type: "ESModule", path: path.join(folder, "restartable.js"), contents: RESTARTABLE(classes) },
      { type: "ESModule", path: path.join(folder, "controllers.js"), contents: CONTROLLERS },
      { type: "ESModule", path: path.join(folder, "faults.js"), contents: FAULTS(kinds) },
      { type: "ESModule", path: path.join(folder, "trap.js"), contents: TRAP },
      ...worker.modules,
    ],
  };
}
