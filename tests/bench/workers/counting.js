// Stands before a worker and counts what its calls cost: requests to objects, rows written and bytes stored, by the object's name.
// `/bench/operations` shows them, with KV's reads by key.
import Worker, * as built from "./main.js";

const objects = {};

/** The storage of an object, which counts the rows that SQL writes. An alarm is a row too. */
function countingStorage(storage, counts) {
  const passed = (target, name) => (typeof target[name] === "function" ? target[name].bind(target) : target[name]);
  const sql = new Proxy(storage.sql, {
    get: (target, name) => name === "exec" ? (...args) => {
      const cursor = target.exec(...args);
      counts.rows += cursor.rowsWritten;
      return cursor;
    } : passed(target, name),
  });
  return new Proxy(storage, {
    get: (target, name) => {
      if (name === "sql") return sql;
      if (name === "setAlarm") counts.rows += 1;
      return passed(target, name);
    },
  });
}

export class Meter {
  constructor(state, env) {
    this.counts = objects[state.id.name] ??= { requests: 0, rows: 0, bytes: 0 };
    const storage = countingStorage(state.storage, this.counts);
    const counting = new Proxy(state, {
      get: (target, name) => name === "storage" ? storage : typeof target[name] === "function" ? target[name].bind(target) : target[name],
    });
    this.real = new built.Meter(counting, env);
    this.sql = state.storage.sql;
  }
  async fetch(request) {
    this.counts.requests += 1;
    const response = await this.real.fetch(request);
    this.counts.bytes = this.sql.databaseSize;
    return response;
  }
  alarm() {
    this.counts.requests += 1;
    return this.real.alarm();
  }
}
export const { KeyChanges, Account, Slug, Reports, Stats, StatusHistory, Salt, ProductSource, Webhooks } = built;

export default {
  async fetch(request, env, ctx) {
    if (new URL(request.url).pathname === "/bench/operations") return Response.json({ objects, reads: await env.KEYS.get("reads", "json") });
    return typeof Worker === "function" ? new Worker(ctx, env).fetch(request) : Worker.fetch(request, env, ctx);
  },
};
