// An edge: the built Workers in one workerd, with the bindings of their files of wrangler.
import { existsSync, readFileSync } from "node:fs";
import { createRequire, registerHooks } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";
import { parseArgs, parseEnv } from "node:util";

import { workerOptions } from "./options.mjs";

// Miniflare's message to workerd has both Workers in it, and is copied as a whole whenever it grows: by 4 KiB, more than half of
// what a start costs. By 1 MiB it is copied a few times.
const [GROWTH, LARGER_GROWTH] = ["MIN_SINGLE_SEGMENT_GROWTH = 4096;", "MIN_SINGLE_SEGMENT_GROWTH = 1 << 20;"];
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (!url.endsWith("/miniflare/dist/src/index.js")) return loaded;
    const source = String(loaded.source ?? readFileSync(new URL(url)));
    if (!source.includes(GROWTH)) throw new Error(`miniflare has no \`${GROWTH}\` any more: see how its messages grow now`);
    return { ...loaded, source: source.replace(GROWTH, LARGER_GROWTH) };
  },
});

// Its version: docs/decisions/edge.md, "workerd is the one of 30 July 2026".
// Not `import`: it would search the package, 4 MB, for the names that it exports.
const { Log, LogLevel, Miniflare } = createRequire(import.meta.url)("miniflare");

const ROOT = path.resolve(import.meta.dirname, "../..");
const HOST_NAME = /^[a-z\d.-]+$/i;
const SECRETS = ["ADMIN_SECRET", "KEY_SIGNING_SECRET", "GRANT_SECRET", "WEBHOOK_ENCRYPTION_SECRET"];

const OPTIONS = {
  port: { type: "string", default: process.env.EDGE_PORT || "8787" },
  host: { type: "string", default: "127.0.0.1" },
  state: { type: "string", default: path.join(ROOT, ".data/edge") },
  worker: { type: "string", default: path.join(ROOT, "edge-worker/build") },
  env: { type: "string" },
  origin: { type: "string", default: `http://127.0.0.1:${process.env.PROXY_PORT || 8080}` },
  var: { type: "string", multiple: true, default: [] },
  without: { type: "string", multiple: true, default: [] },
  "origin-cert": { type: "string" },
  "origin-key": { type: "string" },
  "origin-ca": { type: "string" },
  counters: { type: "string", default: process.env.EDGE_COUNTERS_PORT },
  faults: { type: "string" },
  home: { type: "string", multiple: true },
  "account-store": { type: "string" },
};

/** Secrets by name: the environment's, else those of .dev.vars. */
function secrets() {
  const file = path.join(ROOT, ".dev.vars");
  const kept = existsSync(file) ? parseEnv(readFileSync(file, "utf8")) : {};
  const given = [...SECRETS, ...Object.keys(kept)].filter((name) => process.env[name]).map((name) => [name, process.env[name]]);
  return { ...kept, ...Object.fromEntries(given) };
}

/** The kinds of bindings that a test can leave out. */
const KINDS = ["kvNamespaces", "durableObjects", "queueProducers", "r2Buckets", "serviceBindings"];
const without = (missing, bindings) =>
  bindings && Object.fromEntries(Object.entries(bindings).filter(([name]) => !missing.includes(name)));

/** `NAME=VALUE` as a pair; the value may hold further equals signs. */
function pair(text) {
  const at = text.indexOf("=");
  if (at < 1) throw new Error(`--var takes NAME=VALUE, not ${text}`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** The binding that presents a client certificate to origins, as `mtls_certificates` does when deployed. */
function originCert(options) {
  const files = [options["origin-cert"], options["origin-key"], options["origin-ca"]];
  if (files.every((file) => file === undefined)) return {};
  if (files.includes(undefined)) throw new Error("--origin-cert, --origin-key and --origin-ca belong together");
  const [certificateChain, privateKey, authority] = files.map((file) => readFileSync(file, "utf8"));
  const tlsOptions = { keypair: { certificateChain, privateKey }, trustedCertificates: [authority] };
  return { ORIGIN_CERT: { network: { allow: ["public", "private", "local"], tlsOptions } } };
}

/**
 * The static assets. An environment has Cloudflare's own workers for them, as a deployment does. Elsewhere a folder stands for
 * those, because one of them would be in front of ours at every request. So it does behind faults.
 */
const assetsOf = ({ env, faults }, assets) =>
  env && !faults
    ? { assets }
    : { assets: undefined, folder: { [assets.binding]: { disk: { path: assets.directory, writable: false } } } };

/** Without the binding to the Worker of pages there is none, and the gateway lacks the objects that it owns. */
const isAlone = (options) => options.without.includes("PAGES_WORKER");

/** The names of Workers in the files are those of deployments. Here each one's `script_name` is the other. */
function objectsOf(options, other, bindings) {
  const named = Object.entries(bindings).map(([name, { className, scriptName }]) => {
    // Wrangler does not say of a class that was transferred that it has SQL, as all of ours do. The key is the folder of what an
    // object stores.
    const stored = { useSQLite: true, unsafeUniqueKey: `edge-${className}` };
    return [name, { className, ...stored, ...(scriptName && { scriptName: other }) }];
  });
  return Object.fromEntries(named.filter(([, { scriptName }]) => !scriptName || !isAlone(options)));
}

/** A Worker with its file, and the bindings that the file of wrangler has. The objects that it does not own are those of `other`. */
function workerOf(options, { name, config, other }) {
  const built = path.resolve(options.worker);
  const folder = path.join(built, name);
  const main = path.join(folder, "index.js");
  if (!existsSync(main)) throw new Error("the worker is not built: run scripts/build-edge.sh");
  const configured = workerOptions(config, options.env, path.join(built, "site"));
  const { assets, folder: assetsFolder } = assetsOf(options, configured.assets);
  const service = configured.serviceBindings?.PAGES_WORKER && { PAGES_WORKER: other };
  const worker = {
    ...configured,
    durableObjects: objectsOf(options, other, configured.durableObjects),
    // Those that a migration names and the other Worker owns.
    additionalUnboundDurableObjects: [],
    name,
    // Named, since miniflare would parse the whole script for them.
    modules: [
      { type: "ESModule", path: main },
      { type: "CompiledWasm", path: path.join(folder, "index_bg.wasm") },
    ],
    modulesRoot: folder,
    bindings: {
      ...configured.bindings,
      ...secrets(),
      ORIGIN_URLS: options.origin,
      // Origins, webhooks and feeds of this machine, which a deployed worker never calls.
      ALLOW_PRIVATE_FETCH: "1",
      ACCESS_LOG_SAMPLE: "1",
      ...Object.fromEntries(options.var.map(pair)),
    },
    assets,
    serviceBindings: { ...service, ...originCert(options), ...assetsFolder },
  };
  return { ...worker, ...Object.fromEntries(KINDS.map((kind) => [kind, without(options.without, worker[kind])])) };
}

/** The Workers: the gateway, which gets every request, and the one of pages, which gets those for PAGES_HOST itself. */
function workersOf(options) {
  const gateway = workerOf(options, { name: "gateway", config: "wrangler.toml", other: "pages" });
  if (isAlone(options)) return [gateway];
  const pages = workerOf(options, { name: "pages", config: "wrangler.pages.toml", other: "gateway" });
  const [host] = (pages.bindings.PAGES_HOST ?? "").split(":");
  return [gateway, HOST_NAME.test(host) ? { ...pages, routes: [`${host}/*`] } : pages];
}

/** The Workers, with the test's hand on the bindings and the stores where it asks for that. */
async function handledWorkers(options) {
  const workers = workersOf(options);
  if (options["account-store"]) {
    const { withStoredAccount } = await import("../../tests/edge/stored_account.mjs");
    return withStoredAccount(workers, options["account-store"]);
  }
  if (options.counters) {
    if (options.faults) throw new Error("--counters and --faults exclude each other");
    const { withCounters } = await import("./counters.mjs");
    return withCounters(workers, { host: options.host, port: Number(options.counters) });
  }
  if (!options.faults) return workers;
  const { withFaults } = await import("../../tests/edge/faults.mjs");
  const faulty = withFaults(workers, options.faults);
  if (!options.home) return faulty;
  const { withHome } = await import("../../tests/edge/home.mjs");
  return withHome(faulty, options.home);
}

async function miniflareOptions(options) {
  return {
    host: options.host,
    port: Number(options.port),
    // Without a country: miniflare would say that every visitor is in the USA.
    cf: {},
    ...(options.state === "memory" ? {} : { defaultPersistRoot: options.state }),
    workers: await handledWorkers(options),
  };
}

/** Where Miniflare's own messages go, and what the worker logs. */
function outputOptions(output) {
  const log = new Log(LogLevel.WARN);
  log.log = (message) => output.log(message);
  const handleRuntimeStdio = (stdout, stderr) => {
    createInterface(stdout).on("line", (line) => output.log(line));
    createInterface(stderr).on("line", (line) => output.error(line));
  };
  return { log, handleRuntimeStdio };
}

async function announce(edge, options, output) {
  const url = await edge.ready;
  if (options.counters) output.log(`edge counters on ${(await edge.unsafeGetDirectURL("gateway", "Counters")).origin}`);
  output.log(`edge listening on ${url.origin}`);
}

/**
 * Starts an edge with the arguments of scripts/edge.mjs. `output` has the methods `log` and `error` of a console, each for one
 * line. Returns the edge, and a promise that resolves once it listens and has said so.
 */
export async function startEdge(args, output) {
  const { values: options } = parseArgs({ args, options: OPTIONS });
  const edge = new Miniflare({ ...(await miniflareOptions(options)), ...outputOptions(output) });
  return { edge, listening: announce(edge, options, output) };
}
