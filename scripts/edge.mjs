// Runs the built worker in workerd, with the bindings of wrangler.toml: `node scripts/edge.mjs [options]`.
//   --port N         0 takes a free one; default EDGE_PORT or 8787
//   --host H         default 127.0.0.1
//   --state DIR      where KV, Durable Objects and queues live; `memory` keeps nothing; default .data/edge
//   --worker DIR     the built worker with its assets; default edge-worker/build
//   --env NAME       the bindings and variables of [env.NAME], as a deployment has them; default the top level
//   --pages NAME     a second worker, of [env.NAME], gets the requests for PAGES_HOST; without it the edge lacks the objects
//                    that another worker owns (docs/deploy.md, "Two Workers")
//   --origin URLS    ORIGIN_URLS, separated by commas; default the local proxy, PROXY_PORT or 8080
//   --var NAME=VALUE another variable of the worker, repeatable; never a secret: those come from .dev.vars,
//                    or from the environment if a variable of the same name is set there
//   --without NAME   for tests: the worker lacks this binding, repeatable
//   --origin-cert FILE, --origin-key FILE, --origin-ca FILE
//                    the binding ORIGIN_CERT: a client certificate for origins with its key, and the authority of the
//                    origins' own certificates, all in PEM
//   --counters PORT  counts paid operations, responses and requests to origins, and serves the counts as JSON at this
//                    port; 0 takes a free one; default EDGE_COUNTERS_PORT, or none
//   --faults URL     for tests: the server at URL says what becomes of each use of a binding (tests/edge/faults.mjs)
//   --account-store FILE
//                    for tests: one account's store as an earlier version left it, in SQL
// Prints `edge listening on http://host:port` once it answers, and before it `edge counters on …`. SIGTERM and SIGINT end it.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { parseArgs, parseEnv } from "node:util";

import { workerOptions } from "./edge/options.mjs";

// Not `import`: it would search the package, 4 MB, for the names that it exports.
const { Log, LogLevel, Miniflare } = createRequire(import.meta.url)("miniflare");

const ROOT = path.resolve(import.meta.dirname, "..");
const SECRETS = ["ADMIN_SECRET", "KEY_SIGNING_SECRET", "GRANT_SECRET", "WEBHOOK_ENCRYPTION_SECRET"];

const { values: options } = parseArgs({
  options: {
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
    "account-store": { type: "string" },
  },
});

const WORKER = path.resolve(options.worker);

/** Secrets by name: the environment's, else those of .dev.vars. */
function secrets() {
  const file = path.join(ROOT, ".dev.vars");
  const kept = existsSync(file) ? parseEnv(readFileSync(file, "utf8")) : {};
  const given = [...SECRETS, ...Object.keys(kept)].filter((name) => process.env[name]).map((name) => [name, process.env[name]]);
  return { ...kept, ...Object.fromEntries(given) };
}

/** The kinds of bindings that a test can leave out. */
const KINDS = ["kvNamespaces", "durableObjects", "queueProducers", "r2Buckets"];
const withoutMissing = (bindings) =>
  bindings && Object.fromEntries(Object.entries(bindings).filter(([name]) => !options.without.includes(name)));

/** `NAME=VALUE` as a pair; the value may hold further equals signs. */
function pair(text) {
  const at = text.indexOf("=");
  if (at < 1) throw new Error(`--var takes NAME=VALUE, not ${text}`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** The binding that presents a client certificate to origins, as `mtls_certificates` does when deployed. */
function originCert() {
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
const isAsDeployed = options.env && !options.faults;
const assets = (asDeployed) => ({ assets: isAsDeployed ? asDeployed : undefined });
const folderOf = ({ binding, directory }) => (isAsDeployed ? {} : { [binding]: { disk: { path: directory, writable: false } } });

/** The names of objects' owners in wrangler.toml are those of deployments. Here each worker owns what the other does not. */
function withOwner(other, bindings) {
  const named = Object.entries(bindings).map(([name, { className, scriptName }]) => {
    // Wrangler does not say of a class that was transferred that it has SQL, as all of ours do.
    return [name, { className, useSQLite: true, ...(scriptName && { scriptName: other }) }];
  });
  return Object.fromEntries(named.filter(([, { scriptName }]) => !scriptName || options.pages));
}

/** A worker with the bindings of an environment. The objects that it does not own are those of `other`. */
function workerOf(name, environment, other) {
  const main = path.join(WORKER, "index.js");
  if (!existsSync(main)) throw new Error("the worker is not built: run scripts/build-edge.sh");
  const configured = workerOptions(environment, path.join(WORKER, "site"));
  return {
    ...configured,
    durableObjects: withOwner(other, configured.durableObjects),
    name,
    // Named, since miniflare would parse the whole script for them.
    modules: [
      { type: "ESModule", path: main },
      { type: "CompiledWasm", path: path.join(WORKER, "index_bg.wasm") },
    ],
    modulesRoot: WORKER,
    bindings: {
      ...configured.bindings,
      ...secrets(),
      ORIGIN_URLS: options.origin,
      // Origins, webhooks and feeds of this machine, which a deployed worker never calls.
      ALLOW_PRIVATE_FETCH: "1",
      ACCESS_LOG_SAMPLE: "1",
      ...Object.fromEntries(options.var.map(pair)),
    },
    ...assets(configured.assets),
    serviceBindings: { ...configured.serviceBindings, ...originCert(), ...folderOf(configured.assets) },
  };
}

function miniflareOptions() {
  const edge = workerOf("edge", options.env, "pages");
  return {
    ...edge,
    ...Object.fromEntries(KINDS.map((kind) => [kind, withoutMissing(edge[kind])])),
    host: options.host,
    port: Number(options.port),
    // Without a country: miniflare would say that every visitor is in the USA.
    cf: {},
    log: new Log(LogLevel.WARN),
    ...(options.state === "memory" ? {} : { defaultPersistRoot: options.state }),
  };
}

/** The worker of the pages' host. As docs/deploy.md says, one of the secrets is the edge's, and the others are its own. */
function pagesWorker() {
  const pages = workerOf("pages", options.pages, "edge");
  const { bindings, bindings: { PAGES_HOST } } = pages;
  if (!PAGES_HOST) throw new Error("--pages needs --var PAGES_HOST=NAME");
  const own = ["ADMIN_SECRET", "KEY_SIGNING_SECRET", "GRANT_SECRET"].map((name) => [name, `${bindings[name]}-of-pages`]);
  return { ...pages, bindings: { ...bindings, ...Object.fromEntries(own) }, routes: [`${PAGES_HOST.split(":")[0]}/*`] };
}

/** Adds the second worker. */
function withPages({ host, port, cf, log, defaultPersistRoot, workers, ...edge }, pages) {
  const shared = { host, port, cf, log, ...(defaultPersistRoot ? { defaultPersistRoot } : {}) };
  return { ...shared, workers: [...(workers ?? [edge]), pages] };
}

/** The options, with the test's hand on the bindings and the stores where it asks for that. */
async function finalOptions() {
  if (options["account-store"]) {
    const { withStoredAccount } = await import("../tests/edge/stored_account.mjs");
    return withStoredAccount(miniflareOptions(), options["account-store"]);
  }
  if (options.counters) {
    if (options.faults) throw new Error("--counters and --faults exclude each other");
    const { withCounters } = await import("./edge/counters.mjs");
    return withCounters(miniflareOptions(), Number(options.counters));
  }
  if (!options.faults) return options.pages ? withPages(miniflareOptions(), pagesWorker()) : miniflareOptions();
  const { restartable, withFaults } = await import("../tests/edge/faults.mjs");
  const faulty = withFaults(miniflareOptions(), options.faults);
  return options.pages ? withPages(faulty, restartable(pagesWorker())) : faulty;
}

const edge = new Miniflare(await finalOptions());
let ending = false;
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, async () => {
    if (ending) return;
    ending = true;
    await edge.dispose();
    process.exit(0);
  });
}
const url = await edge.ready;
if (options.counters) console.log(`edge counters on ${(await edge.unsafeGetDirectURL("edge", "Counters")).origin}`);
console.log(`edge listening on ${url.origin}`);
