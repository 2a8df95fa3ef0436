// Counts what a local edge does on the platform: operations that are paid for, responses, and requests to origins. The
// counters are JSON at an address of their own (docs: loadtest/README.md, "Costs").
import path from "node:path";

/**
 * The module that stands before each worker. A worker and its objects share an isolate of workerd, and so these counters. The
 * gateway adds up both, and leaves it to the other worker to count what it hands over: that is one request of the platform.
 * Requests with the header `Load-Test: outside` are not counted as responses: they prepare a run or look at it.
 */
const COUNTING = ({ kv, queues, classes }) => `
import { WorkerEntrypoint } from "cloudflare:workers";
import Worker, * as built from "./index.js";

const operations = {
  worker_requests: 0, object_requests: 0, object_rows_read: 0, object_rows_written: 0,
  kv_reads: 0, kv_writes: 0, kv_deletes: 0, kv_lists: 0, queue_operations: 0,
};
const responses = {}, problems = {};
let originRequests = 0;

/** The target with some methods replaced. The others keep their own \`this\`. */
const wrapped = (target, methods) => new Proxy(target, {
  get: (real, name) => {
    const value = real[name];
    if (typeof value !== "function" || name === "constructor") return value;
    const count = methods[name];
    return count ? (...args) => count(real, args) : value.bind(real);
  },
});

const counted = (operation, count = () => 1) => (real, args, name) => {
  operations[operation] += count(...args);
  return real[name](...args);
};
const methods = (named) => Object.fromEntries(Object.entries(named).map(([name, method]) => [name, (real, args) => method(real, args, name)]));

const keys = (key) => (Array.isArray(key) ? key.length : 1);
const NAMESPACE = methods({
  get: counted("kv_reads", keys), getWithMetadata: counted("kv_reads", keys),
  put: counted("kv_writes"), delete: counted("kv_deletes"), list: counted("kv_lists"),
});
const QUEUE = methods({
  send: counted("queue_operations"),
  sendBatch: counted("queue_operations", (messages) => [...messages].length),
});
const FETCHER = methods({
  fetch: (real, args) => {
    countOriginRequest(args[0]);
    return real.fetch(...args);
  },
});
/** Requests that were handed over. */
const handedOver = new WeakSet();
const PAGES = methods({
  fetch: (real, args) => {
    handedOver.add(args[0]);
    operations.worker_requests -= 1;
    return real.fetch(...args);
  },
});
/** SQL that reads before it writes has its rows counted once it has run, as all of ours has after \`exec\`. */
const sqlMethods = (cursors) => methods({
  exec: (real, args) => {
    const cursor = real.exec(...args);
    operations.object_rows_written += cursor.rowsWritten;
    cursors.push(cursor);
    return cursor;
  },
});
/** An alarm is a row too. */
const STORAGE = methods({ setAlarm: counted("object_rows_written") });

const KV = new Set(${JSON.stringify(kv)}), QUEUES = new Set(${JSON.stringify(queues)});
const countedEnvs = new WeakMap();

/** The bindings, which count. */
function countedEnv(env) {
  if (!countedEnvs.has(env)) {
    const bindings = Object.entries(env).map(([name, binding]) => {
      if (KV.has(name)) return [name, wrapped(binding, NAMESPACE)];
      if (QUEUES.has(name)) return [name, wrapped(binding, QUEUE)];
      if (name === "PAGES_WORKER") return [name, wrapped(binding, PAGES)];
      return [name, name === "ORIGIN_CERT" ? wrapped(binding, FETCHER) : binding];
    });
    countedEnvs.set(env, Object.fromEntries(bindings));
  }
  return countedEnvs.get(env);
}

function countedState(state, cursors) {
  const sql = wrapped(state.storage.sql, sqlMethods(cursors));
  const storage = wrapped(state.storage, STORAGE);
  const withSql = new Proxy(storage, { get: (target, name) => (name === "sql" ? sql : target[name]) });
  return new Proxy(state, {
    get: (target, name) => {
      if (name === "storage") return withSql;
      return typeof target[name] === "function" ? target[name].bind(target) : target[name];
    },
  });
}

const object = (Real) => class {
  cursors = [];
  constructor(state, env) { this.real = new Real(countedState(state, this.cursors), countedEnv(env)); }
  async counted(step) {
    operations.object_requests += 1;
    try {
      return await step();
    } finally {
      // Rows are read after \`exec\`.
      for (const cursor of this.cursors.splice(0)) operations.object_rows_read += cursor.rowsRead;
    }
  }
  fetch(request) { return this.counted(() => this.real.fetch(request)); }
  alarm() { return this.counted(() => this.real.alarm()); }
};
${classes.map((name) => `export const ${name} = object(built.${name});`).join("\n")}

/** Calls go to an origin's /v1. Probes, webhooks and feeds go elsewhere. */
let origins;
function countOriginRequest(resource) {
  const url = typeof resource === "string" ? resource : resource.url;
  if (origins?.some((origin) => url.startsWith(origin + "/v1/"))) originRequests += 1;
}
const fetchAnything = globalThis.fetch;
globalThis.fetch = (resource, ...rest) => {
  countOriginRequest(resource);
  return fetchAnything(resource, ...rest);
};

const increment = (counts, name) => { counts[name] = (counts[name] ?? 0) + 1; };

async function countResponse(response) {
  const type = response.headers.get("content-type") ?? "";
  const code = type.startsWith("application/problem+json") && response.body ? (await response.clone().json()).code : undefined;
  if (code) increment(problems, code);
  else increment(responses, Math.floor(response.status / 100) + "xx");
  return response;
}

export default {
  async fetch(request, env, ctx) {
    origins ??= env.ORIGIN_URLS.split(",").map((url) => new URL(url.trim()).origin);
    operations.worker_requests += 1;
    const response = await Worker.fetch(request, countedEnv(env), ctx);
    const isCounted = handedOver.has(request) || request.headers.get("load-test") === "outside";
    return isCounted ? response : countResponse(response);
  },
  queue(batch, env, ctx) {
    // A message is read and deleted.
    operations.queue_operations += 2 * batch.messages.length;
    return Worker.queue(batch, countedEnv(env), ctx);
  },
};

const sum = (one, other) => {
  const both = { ...one };
  for (const [name, count] of Object.entries(other)) both[name] = (both[name] ?? 0) + count;
  return both;
};

/** The counters, at an address of their own: the sum of both workers. */
export class Counters extends WorkerEntrypoint {
  async fetch() {
    const own = { operations, responses, problems, origin_requests: originRequests };
    const { PAGES_COUNTERS: pages } = this.env;
    if (!pages) return Response.json(own);
    const other = await (await pages.fetch("http://pages/")).json();
    const origins = own.origin_requests + other.origin_requests;
    const [all, answered, refused] = ["operations", "responses", "problems"].map((part) => sum(own[part], other[part]));
    return Response.json({ operations: all, responses: answered, problems: refused, origin_requests: origins });
  }
}
`;

/** The workers, which count, with the counters at an address of the gateway. */
export function withCounters([gateway, pages], { host, port }) {
  const counting = counted(gateway);
  return [
    {
      ...counting,
      serviceBindings: { ...counting.serviceBindings, PAGES_COUNTERS: { name: pages.name, entrypoint: "Counters" } },
      unsafeDirectSockets: [{ host, port, entrypoint: "Counters" }],
    },
    counted(pages),
  ];
}

function counted(worker) {
  const classes = [...new Set(Object.values(worker.durableObjects).map(({ className }) => className))];
  const names = (bindings) => Object.keys(bindings ?? {});
  const contents = COUNTING({ kv: names(worker.kvNamespaces), queues: names(worker.queueProducers), classes });
  const module = { type: "ESModule", path: path.join(worker.modulesRoot, "counting.js"), contents };
  return { ...worker, modules: [module, ...worker.modules] };
}
