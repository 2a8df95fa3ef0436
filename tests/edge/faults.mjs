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

/** A binding of objects, asked for as `control`. The worker looks at the class's name, so it has the real one's. */
const objects = (control) => `
class DurableObjectNamespace {
  constructor(env) { this.env = env; }
  getByName(name) {
    const { env } = this;
    return {
      async fetch(...args) {
        const fate = await (await env.CONTROL.fetch("http://control/${control}/fetch")).text();
        if (fate === "fail") throw new Error("the object fails, as the test wants it");
        if (fate === "overloaded") throw Object.assign(new Error("the object is overloaded"), { overloaded: true });
        if (fate === "hang") return new Promise(() => {});
        if (fate === "restart") await env.REAL.get(env.REAL.idFromName(name)).fetch("http://object/restart").catch(() => {});
        return env.REAL.get(env.REAL.idFromName(name)).fetch(...args);
      },
    };
  }
}
export default (env) => new DurableObjectNamespace(env);
`;

/** The worker as it was built, with a meter that can be restarted: the object is gone and its memory with it. */
const RESTARTABLE = `
import worker, { Meter as Real } from "./index.js";
export default worker;
export { Account, KeyChanges, Reports, Slug } from "./index.js";
export class Meter {
  constructor(state, env) { this.state = state; this.real = new Real(state, env); }
  fetch(request) {
    if (new URL(request.url).pathname === "/restart") this.state.abort("the test restarts the object");
    return this.real.fetch(request);
  }
  alarm() { return this.real.alarm(); }
}
`;

/** The options of a Miniflare whose worker `edge` has its bindings behind the control server at `url`. */
export function withFaults({ kvNamespaces, durableObjects, host, port, cf, log, defaultPersistRoot, ...edge }, url) {
  const { METER, KEY_CHANGES, ACCOUNT, ...others } = durableObjects;
  const CONTROL = (request) => fetch(new URL(new URL(request.url).pathname, url));
  const wrapper = (name, script, bindings) => ({ name, modules: true, script, serviceBindings: { CONTROL }, ...bindings });
  return {
    host, port, cf, log, ...(defaultPersistRoot ? { defaultPersistRoot } : {}),
    workers: [
      { ...restartable(edge), durableObjects: others, wrappedBindings: { KEYS: "faulty-keys", PAGES: "faulty-pages", METER: "faulty-meter", KEY_CHANGES: "faulty-changes", ACCOUNT: "faulty-accounts" } },
      wrapper("faulty-keys", namespace("KEYS", "keys"), { kvNamespaces: { KEYS: kvNamespaces.KEYS } }),
      wrapper("faulty-pages", namespace("PAGES", "pages"), { kvNamespaces: { PAGES: kvNamespaces.PAGES } }),
      wrapper("faulty-meter", objects("meter"), { durableObjects: { REAL: { ...METER, scriptName: "edge" } } }),
      wrapper("faulty-accounts", objects("accounts"), { durableObjects: { REAL: { ...ACCOUNT, scriptName: "edge" } } }),
      wrapper("faulty-changes", objects("changes"), { durableObjects: { REAL: { ...KEY_CHANGES, scriptName: "edge" } } }),
    ],
  };
}

function restartable({ scriptPath, ...edge }) {
  const folder = path.dirname(scriptPath);
  return {
    ...edge,
    modules: [
      { type: "ESModule", path: path.join(folder, "restartable.js"), contents: RESTARTABLE },
      { type: "ESModule", path: scriptPath },
      { type: "CompiledWasm", path: path.join(folder, "index_bg.wasm") },
    ],
  };
}
