// Stands between the worker and its bindings, so that a test decides what becomes of each operation and counts them.
// What passes goes to the real KV and the real objects; nothing is played.

import path from "node:path";

/** A binding of KV: `get`, `put`, `list` and `delete` of the real namespace, if the test lets them. */
const namespace = (binding, control) => `
class Namespace {
  constructor(env) { this.env = env; }
  async run(name, args) {
    const fate = await (await this.env.CONTROL.fetch("http://control/${control}/" + name)).text();
    if (fate === "absent" && name === "get") return null;
    if (fate === "fail") throw new Error("KV fails, as the test wants it");
    if (fate === "hang") return new Promise(() => {});
    return this.env.${binding}[name](...args);
  }
  get(...args) { return this.run("get", args); }
  put(...args) { return this.run("put", args); }
  list(...args) { return this.run("list", args); }
  delete(...args) { return this.run("delete", args); }
}
export default (env) => new Namespace(env);
`;

/** The binding of static assets, asked for as `assets`. */
const ASSETS = `
class Fetcher {
  constructor(env) { this.env = env; }
  async fetch(...args) {
    const fate = await (await this.env.CONTROL.fetch("http://control/assets/fetch")).text();
    if (fate === "absent") return new Response("absent, as the test wants it", { status: 404 });
    if (fate === "fail") throw new Error("the assets fail, as the test wants it");
    if (fate === "hang") return new Promise(() => {});
    return this.env.REAL.fetch(...args);
  }
}
export default (env) => new Fetcher(env);
`;

/** A binding of objects, asked for as `control`. The worker looks at the class's name, so it has the real one's. */
const objects = (control) => `
const after = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const created = new Map();
class DurableObjectNamespace {
  constructor(env) { this.env = env; }
  getByName(name) {
    const { env } = this;
    return {
      async fetch(...args) {
        const [fate, ms] = (await (await env.CONTROL.fetch("http://control/${control}/fetch")).text()).split(" ");
        if (fate === "create") {
          if (!created.has(name)) created.set(name, Date.now() + Number(ms));
          await after(created.get(name) - Date.now());
        }
        if (fate === "far") await after(ms / 2);
        if (fate === "late") await after(ms);
        if (fate === "fail") throw new Error("the object fails, as the test wants it");
        if (fate === "overloaded") throw Object.assign(new Error("the object is overloaded"), { overloaded: true });
        if (fate === "hang") return new Promise(() => {});
        if (fate === "restart") await env.REAL.get(env.REAL.idFromName(name)).fetch("http://object/restart").catch(() => {});
        const reply = await env.REAL.get(env.REAL.idFromName(name)).fetch(...args);
        if (fate === "far") await after(ms / 2);
        if (fate === "late") await env.CONTROL.fetch("http://control/${control}/arrived");
        if (fate === "lose") throw new Error("the reply is lost, as the test wants it");
        return reply;
      },
    };
  }
}
export default (env) => new DurableObjectNamespace(env);
`;

/**
 * The producer of the queue, asked for as `events`. The control server gets each message too. `sendBatch`, which the worker
 * does not use, is left out.
 */
const QUEUE = `
class WorkerQueue {
  constructor(env) { this.env = env; }
  async send(body, options) {
    const fate = await (await this.env.CONTROL.fetch("http://control/events/send", { method: "POST", body })).text();
    if (fate === "fail") throw new Error("the queue fails, as the test wants it");
    if (fate === "hang") return new Promise(() => {});
    if (fate !== "lose") await this.env.EVENTS.send(body, options);
  }
}
export default (env) => new WorkerQueue(env);
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

/**
 * The worker as it was built, with objects that can be restarted: the object is gone and its memory with it. Routes of its
 * own pass by the faults:
 *   GET /test/trap                      a request that traps within wasm, as a panic does
 *   POST /test/queue                    a batch of messages `[{id, timestamp, body}]`; shows which come again
 *   POST /test/OBJECT/NAME              a message to an object, METER, STATS, SALT, WEBHOOKS, REPORTS or PRODUCT_SOURCE
 *   GET /test/OBJECT/NAME/restart       restarts it from what it has stored
 *   POST /test/OBJECT/NAME/sql          a statement in its store; shows the rows, with blobs in base64
 *   GET or PUT /test/OBJECT/NAME/alarm  the moment of its alarm, or null
 *   POST /test/OBJECT/NAME/alarm        runs the alarm now
 */
const RESTARTABLE = `
import { WorkerEntrypoint } from "cloudflare:workers";
import { trap } from "./trap.js";
import Worker, * as built from "./index.js";
export * from "./index.js";

const shown = (value) => value instanceof ArrayBuffer ? new Uint8Array(value).toBase64() : value;

const restartable = (Real) => class {
  constructor(state, env) { this.state = state; this.real = new Real(state, env); }
  async fetch(request) {
    const { storage } = this.state;
    switch (request.method + new URL(request.url).pathname) {
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
export const Meter = restartable(built.Meter);
export const Stats = restartable(built.Stats);
export const Salt = restartable(built.Salt);
export const Webhooks = restartable(built.Webhooks);
export const ProductSource = restartable(built.ProductSource);
export const Account = restartable(built.Account);
export const Reports = restartable(built.Reports);

export default class extends WorkerEntrypoint {
  async fetch(request) {
    const [, test, binding, name, step = ""] = new URL(request.url).pathname.split("/");
    if (test === "test" && binding === "trap") trap();
    if (test !== "test" || binding === "trap") return Worker.fetch(request, this.env, this.ctx);
    if (binding !== "queue") return this.env["TEST_" + binding].getByName(name).fetch(new Request("http://object/" + step, request));
    const messages = (await request.json()).map((message) => ({ ...message, timestamp: new Date(message.timestamp), attempts: 1 }));
    return Response.json(await this.env.TEST_EDGE.queue("events", messages));
  }
  queue(batch) { return Worker.queue(batch, this.env, this.ctx); }
}
`;

/**
 * The options of a Miniflare whose worker `edge` has its bindings behind the control server at `url`. Messages of the queue
 * arrive without delay.
 */
export function withFaults({ kvNamespaces, durableObjects, queueProducers, serviceBindings: { ASSETS: assets, ...services }, host, port, cf, log, defaultPersistRoot, ...edge }, url) {
  const { METER, KEY_CHANGES, ACCOUNT, SLUG, STATS, SALT, WEBHOOKS, ...others } = durableObjects;
  const CONTROL = async (request) => {
    const body = request.method === "POST" ? await request.text() : undefined;
    return fetch(new URL(new URL(request.url).pathname, url), { method: request.method, body });
  };
  const wrapper = (name, script, bindings) => ({ name, modules: true, script, serviceBindings: { CONTROL }, ...bindings });
  const wrapped = (control, REAL) => wrapper(`faulty-${control}`, objects(control), { durableObjects: { REAL: { scriptName: "edge", ...REAL } } });
  return {
    host, port, cf, log, ...(defaultPersistRoot ? { defaultPersistRoot } : {}),
    workers: [
      {
        ...restartable(edge),
        compatibilityFlags: [...edge.compatibilityFlags, "service_binding_extra_handlers"],
        durableObjects: { ...others, TEST_METER: METER, TEST_STATS: STATS, TEST_SALT: SALT, TEST_WEBHOOKS: WEBHOOKS, TEST_PRODUCT_SOURCE: others.PRODUCT_SOURCE, TEST_REPORTS: others.REPORTS },
        serviceBindings: { ...services, TEST_EDGE: "edge" },
        wrappedBindings: {
          KEYS: "faulty-keys", PAGES: "faulty-pages", EVENTS: "faulty-events", METER: "faulty-meter",
          KEY_CHANGES: "faulty-changes", ACCOUNT: "faulty-accounts", SLUG: "faulty-slugs", STATS: "faulty-stats", SALT: "faulty-salt", WEBHOOKS: "faulty-webhooks",
          ASSETS: "faulty-assets",
        },
      },
      wrapper("faulty-keys", namespace("KEYS", "keys"), { kvNamespaces: { KEYS: kvNamespaces.KEYS } }),
      wrapper("faulty-pages", namespace("PAGES", "pages"), { kvNamespaces: { PAGES: kvNamespaces.PAGES } }),
      wrapper("faulty-events", QUEUE, { queueProducers: { EVENTS: queueProducers.EVENTS } }),
      { ...wrapper("faulty-assets", ASSETS), serviceBindings: { CONTROL, REAL: assets } },
      wrapped("meter", METER),
      wrapped("changes", KEY_CHANGES),
      wrapped("accounts", ACCOUNT),
      wrapped("slugs", SLUG),
      wrapped("stats", STATS),
      wrapped("salt", SALT),
      wrapped("webhooks", WEBHOOKS),
    ],
  };
}

/** The options of a worker with routes and objects for tests. */
export function restartable(edge) {
  const folder = edge.modulesRoot;
  const hasty = ([name, options]) => [name, { ...options, maxBatchTimeout: 0 }];
  return {
    ...edge,
    queueConsumers: Object.fromEntries(Object.entries(edge.queueConsumers).map(hasty)),
    modules: [
      { type: "ESModule", path: path.join(folder, "restartable.js"), contents: RESTARTABLE },
      { type: "ESModule", path: path.join(folder, "trap.js"), contents: TRAP },
      ...edge.modules,
    ],
  };
}
