// Measures how long the gateway takes from the start of its process (workerd) to its first response. Several builds of it
// are measured in one run, in turns, so that whatever else the machine does falls on all of them.
//   node tests/bench/cold_start.mjs --rounds 41 before=FOLDER after=FOLDER
// A folder is a checkout with wrangler.toml and the worker that it names as built. scripts/bench-cold-start.sh makes them.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { unstable_getMiniflareWorkerOptions as workerOptionsOf } from "wrangler";

/** The program itself: `workerd/bin/workerd` may be a script that starts it. */
const WORKERD = createRequire(import.meta.url)("workerd").default;
const PATH = "/healthz";
/** Starts that are not counted: they fill the caches of the file system. */
const WARM_UP = 2;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: "string", default: "41" } },
});
const rounds = Number(options.rounds);
const builds = positionals.map((text) => {
  const [name, folder] = text.split("=");
  if (!folder || !(rounds >= 1)) throw new Error("usage: cold_start.mjs [--rounds N] NAME=FOLDER NAME=FOLDER");
  return { name, folder: path.resolve(folder), times: [] };
});
const temporary = mkdtempSync(path.join(tmpdir(), "cold-start-"));

const quoted = (text) => JSON.stringify(text);

/** Writes the configuration of a workerd that runs this build alone. Its bindings are those of wrangler.toml. */
function configure({ name, folder }) {
  const { workerOptions, main } = workerOptionsOf(path.join(folder, "wrangler.toml"));
  const { kvNamespaces, durableObjects, queueProducers = {}, bindings, compatibilityDate, compatibilityFlags } = workerOptions;
  for (const file of ["index.js", "index_bg.wasm"]) copyFileSync(path.join(path.dirname(main), file), path.join(temporary, `${name}-${file}`));
  const secrets = ["ADMIN_SECRET", "KEY_SIGNING_SECRET", "GRANT_SECRET", "WEBHOOK_ENCRYPTION_SECRET"];
  const texts = { ORIGIN_URLS: "https://origin.example", ...bindings, ...Object.fromEntries(secrets.map((secret) => [secret, `${secret}-of-a-measurement-0123456789`])) };
  // Those of another worker belong to this one here.
  const classes = [...new Set(Object.values(durableObjects).map(({ className }) => className))];
  const file = path.join(temporary, `${name}.capnp`);
  writeFileSync(file, `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "edge", worker = .edge), (name = "empty", worker = .empty)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "edge")],
);
const edge :Workerd.Worker = (
  modules = [
    (name = "index.js", esModule = embed ${quoted(`${name}-index.js`)}),
    (name = "index_bg.wasm", wasm = embed ${quoted(`${name}-index_bg.wasm`)}),
  ],
  compatibilityDate = ${quoted(compatibilityDate)},
  compatibilityFlags = [${compatibilityFlags.map(quoted)}],
  bindings = [
    ${[
      ...Object.keys(kvNamespaces).map((binding) => `(name = ${quoted(binding)}, kvNamespace = "empty")`),
      ...Object.entries(durableObjects).map(([binding, { className }]) => `(name = ${quoted(binding)}, durableObjectNamespace = ${quoted(className)})`),
      ...Object.keys(queueProducers).map((binding) => `(name = ${quoted(binding)}, queue = "empty")`),
      ...Object.entries(texts).map(([binding, text]) => `(name = ${quoted(binding)}, text = ${quoted(String(text))})`),
    ].join(",\n    ")}
  ],
  durableObjectNamespaces = [${classes.map((className) => `(className = ${quoted(className)}, uniqueKey = ${quoted(className)}, enableSql = true)`)}],
  durableObjectStorage = (inMemory = void),
);
const empty :Workerd.Worker = (
  serviceWorkerScript = "addEventListener('fetch', (event) => event.respondWith(new Response(null, { status: 404 })))",
  compatibilityDate = ${quoted(compatibilityDate)},
);
`);
  return file;
}

/** Returns the milliseconds from the start of a process to the end of its first response. */
async function start(file) {
  const started = performance.now();
  const child = spawn(WORKERD, ["serve", file, "--control-fd=3"], { stdio: ["ignore", "ignore", "inherit", "pipe"] });
  const ended = once(child, "exit");
  try {
    const status = await get(await listening(child));
    const elapsed = performance.now() - started;
    if (status !== 200) throw new Error(`${PATH} was answered ${status}`);
    return elapsed;
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
}

async function listening(child) {
  for await (const line of createInterface({ input: child.stdio[3] })) {
    const { event, port } = JSON.parse(line);
    if (event === "listen") return port;
  }
  throw new Error("workerd ended before it listened");
}

async function get(port) {
  const request = http.get({ host: "127.0.0.1", port, path: PATH, agent: false });
  const [response] = await once(request, "response");
  response.resume();
  await once(response, "end");
  return response.statusCode;
}

function quantile(times, share) {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

try {
  for (const build of builds) build.file = configure(build);
  for (let round = -WARM_UP; round < rounds; round += 1) {
    // Each goes first in every second round.
    for (const build of round % 2 ? [...builds].reverse() : builds) {
      const elapsed = await start(build.file);
      if (round >= 0) build.times.push(elapsed);
    }
  }
  console.log(`From process start to the first response, ${rounds} starts each, in milliseconds:`);
  console.table(
    Object.fromEntries(
      builds.map(({ name, times }) => {
        const [quarter, median, threeQuarters] = [0.25, 0.5, 0.75].map((share) => Number(quantile(times, share).toFixed(1)));
        const ratio = Number((quantile(times, 0.5) / quantile(builds[0].times, 0.5)).toFixed(3));
        return [name, { "25 %": quarter, median, "75 %": threeQuarters, [`ratio to ${builds[0].name}`]: ratio }];
      }),
    ),
  );
} finally {
  rmSync(temporary, { recursive: true });
}
