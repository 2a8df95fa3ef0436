// Stands between the worker and its bindings, so that a test decides what becomes of each operation and counts them.
// What passes goes to the real KV and the real objects; nothing is played.

/** The binding KEYS: `get`, `put` and `list` of the real namespace, if the test lets them. */
const KEYS = `
class Keys {
  constructor(env) { this.env = env; }
  async run(name, args) {
    const fate = await (await this.env.CONTROL.fetch("http://control/keys/" + name)).text();
    if (fate === "absent" && name === "get") return null;
    if (fate === "fail") throw new Error("KV fails, as the test wants it");
    if (fate === "hang") return new Promise(() => {});
    return this.env.KEYS[name](...args);
  }
  get(...args) { return this.run("get", args); }
  put(...args) { return this.run("put", args); }
  list(...args) { return this.run("list", args); }
}
export default (env) => new Keys(env);
`;

/** The binding METER. The worker looks at the class's name, so it has the real one's. */
const METER = `
class DurableObjectNamespace {
  constructor(env) { this.env = env; }
  getByName(name) {
    const { env } = this;
    return {
      async fetch(...args) {
        const fate = await (await env.CONTROL.fetch("http://control/meter/fetch")).text();
        if (fate === "fail") throw new Error("the object fails, as the test wants it");
        if (fate === "overloaded") throw Object.assign(new Error("the object is overloaded"), { overloaded: true });
        if (fate === "hang") return new Promise(() => {});
        return env.METER.get(env.METER.idFromName(name)).fetch(...args);
      },
    };
  }
}
export default (env) => new DurableObjectNamespace(env);
`;

/** The options of a Miniflare whose worker `edge` has its bindings behind the control server at `url`. */
export function withFaults({ kvNamespaces, durableObjects, host, port, cf, log, defaultPersistRoot, ...edge }, url) {
  const { METER: meter, ...objects } = durableObjects;
  const CONTROL = (request) => fetch(new URL(new URL(request.url).pathname, url));
  const wrapper = (name, script, bindings) => ({ name, modules: true, script, serviceBindings: { CONTROL }, ...bindings });
  return {
    host, port, cf, log, ...(defaultPersistRoot ? { defaultPersistRoot } : {}),
    workers: [
      { ...edge, durableObjects: objects, wrappedBindings: { KEYS: "faulty-keys", METER: "faulty-meter" } },
      wrapper("faulty-keys", KEYS, { kvNamespaces }),
      wrapper("faulty-meter", METER, { durableObjects: { METER: { ...meter, scriptName: "edge" } } }),
    ],
  };
}
