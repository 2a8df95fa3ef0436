// An edge: the built worker in workerd, with the bindings of wrangler.toml.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";
import { parseArgs, parseEnv } from "node:util";

import { workerOptions } from "./options.mjs";

// Not `import`: it would search the package, 4 MB, for the names that it exports.
const { Log, LogLevel, Miniflare } = createRequire(import.meta.url)("miniflare");

const ROOT = path.resolve(import.meta.dirname, "../..");
const SECRETS = ["ADMIN_SECRET", "KEY_SIGNING_SECRET", "GRANT_SECRET", "WEBHOOK_ENCRYPTION_SECRET"];

const OPTIONS = {
  port: { type: "string", default: process.env.EDGE_PORT || "8787" },
  host: { type: "string", default: "127.0.0.1" },
  state: { type: "string", default: path.join(ROOT, ".data/edge") },
  worker: { type: "string", default: path.join(ROOT, "edge-worker/build") },
  env: { type: "string" },
  pages: { type: "string" },
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
const KINDS = ["kvNamespaces", "durableObjects", "queueProducers", "r2Buckets"];
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
 * The worker's static assets. An environment has Cloudflare's own workers for them, as a deployment does. Elsewhere a folder
 * stands for those, because one of them would be in front of ours at every request. So it does behind faults.
 */
const assetsOf = ({ env, faults }, assets) =>
  env && !faults
    ? { assets }
    : { assets: undefined, folder: { [assets.binding]: { disk: { path: assets.directory, writable: false } } } };

/** The names of objects' owners in wrangler.toml are those of deployments. Here each worker owns what the other does not. */
function withOwner(options, other, bindings) {
  const named = Object.entries(bindings).map(([name, { className, scriptName }]) => {
    // Wrangler does not say of a class that was transferred that it has SQL, as all of ours do.
    return [name, { className, useSQLite: true, ...(scriptName && { scriptName: other }) }];
  });
  return Object.fromEntries(named.filter(([, { scriptName }]) => !scriptName || options.pages));
}

/** The bindings to other workers, as they are named here. A worker that runs alone has none. */
const servicesOf = (options, { PAGES_WORKER, ...others } = {}) =>
  PAGES_WORKER && options.pages ? { ...others, PAGES_WORKER: "pages" } : others;

/**
 * A worker with the bindings of an environment. The objects that it does not own are those of `other`. `part` is the folder of its
 * file, if it is one of two.
 */
function workerOf(options, name, environment, other, part = "") {
  const built = path.resolve(options.worker);
  const folder = path.join(built, part);
  const main = path.join(folder, "index.js");
  if (!existsSync(main)) throw new Error(`the worker is not built: run ${part && `WORKER=${part} `}scripts/build-edge.sh`);
  const configured = workerOptions(environment, path.join(built, "site"));
  const { assets, folder: assetsFolder } = assetsOf(options, configured.assets);
  return {
    ...configured,
    durableObjects: withOwner(options, other, configured.durableObjects),
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
    serviceBindings: { ...servicesOf(options, configured.serviceBindings), ...originCert(options), ...assetsFolder },
  };
}

function miniflareOptions(options) {
  const edge = workerOf(options, "edge", options.env, "pages", options.pages && "gateway");
  return {
    ...edge,
    ...Object.fromEntries(KINDS.map((kind) => [kind, without(options.without, edge[kind])])),
    host: options.host,
    port: Number(options.port),
    // Without a country: miniflare would say that every visitor is in the USA.
    cf: {},
    ...(options.state === "memory" ? {} : { defaultPersistRoot: options.state }),
  };
}

/** The worker of the pages' host. */
function pagesWorker(options) {
  const pages = workerOf(options, "pages", options.pages, "edge", "pages");
  const { PAGES_HOST } = pages.bindings;
  if (!PAGES_HOST) throw new Error("--pages needs --var PAGES_HOST=NAME");
  return { ...pages, routes: [`${PAGES_HOST.split(":")[0]}/*`] };
}

/** Adds the second worker. */
function withPages({ host, port, cf, defaultPersistRoot, workers, ...edge }, pages) {
  const shared = { host, port, cf, ...(defaultPersistRoot ? { defaultPersistRoot } : {}) };
  return { ...shared, workers: [...(workers ?? [edge]), pages] };
}

/** The options, with the test's hand on the bindings and the stores where it asks for that. */
async function finalOptions(options) {
  const made = miniflareOptions(options);
  if (options["account-store"]) {
    const { withStoredAccount } = await import("../../tests/edge/stored_account.mjs");
    return withStoredAccount(made, options["account-store"]);
  }
  if (options.counters) {
    if (options.faults) throw new Error("--counters and --faults exclude each other");
    const { withCounters } = await import("./counters.mjs");
    return withCounters(made, Number(options.counters));
  }
  if (!options.faults) return options.pages ? withPages(made, pagesWorker(options)) : made;
  const { restartable, withFaults } = await import("../../tests/edge/faults.mjs");
  const faulty = withFaults(made, options.faults);
  if (options.home) {
    const { withHome } = await import("../../tests/edge/home.mjs");
    return withHome(faulty, options.home);
  }
  return options.pages ? withPages(faulty, restartable(pagesWorker(options))) : faulty;
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
  if (options.counters) output.log(`edge counters on ${(await edge.unsafeGetDirectURL("edge", "Counters")).origin}`);
  output.log(`edge listening on ${url.origin}`);
}

/**
 * Starts an edge with the arguments of scripts/edge.mjs. `output` has the methods `log` and `error` of a console, each for one
 * line. Returns the edge, and a promise that resolves once it listens and has said so.
 */
export async function startEdge(args, output) {
  const { values: options } = parseArgs({ args, options: OPTIONS });
  const edge = new Miniflare({ ...(await finalOptions(options)), ...outputOptions(output) });
  return { edge, listening: announce(edge, options, output) };
}
