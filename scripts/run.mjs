// A whole gateway on this machine: demo tools, proxy and edge, started in this order, ended together. With `--direct`
// there is no edge: the proxy serves clients itself.
// Called by scripts/run.sh, which has built them. PROFILE names the folder of the built programs.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseEnv } from "node:util";
import { Part } from "./run/part.mjs";
import { HOST, portFaults, portsFrom } from "./run/ports.mjs";
import { untilOk } from "./run/ready.mjs";

const ROOT = path.resolve(import.meta.dirname, "..");
const PROGRAMS = path.join(process.env.CARGO_TARGET_DIR || path.join(ROOT, "target"), process.env.PROFILE || "local");
const LOGS = path.join(ROOT, ".data/logs");
const DIRECT = process.argv.includes("--direct");
const STATE = path.join(ROOT, DIRECT ? ".data/direct" : ".data/proxy");
const PRICES = path.join(ROOT, "conf/prices.toml");
/** The address and a key for a shell: `. .data/run.env` */
const VARIABLES = path.join(ROOT, ".data/run.env");
const PATIENCE_MS = 30_000;
/** The servers that can hold the meters of `AUTHORITY=valkey`. */
const VALKEYS = ["valkey-server", "redis-server"];
const VALKEY_PORT = process.env.VALKEY_PORT || "6379";
/** The command, and the part that clients call. */
const { command: COMMAND, front: FRONT } = DIRECT
  ? { command: "make run-direct", front: "proxy" }
  : { command: "make run", front: "edge" };

const started = performance.now();
const secrets = parseEnv(readFileSync(path.join(ROOT, ".dev.vars"), "utf8"));
const parts = [];
let ports;
let stopping;

const at = (port, rest = "") => `http://${HOST}:${port}${rest}`;

function start(name, command, args, secretNames = []) {
  const environment = {
    ...process.env,
    EDGE_PORT: ports.edge,
    PROXY_PORT: ports.proxy,
    ADMIN_PORT: ports.admin,
    TOOLS_PORT: ports.tools[0],
    STATE_FILE: path.join(STATE, "keys"),
    // Where the proxy keeps what was last good, as under systemd. Otherwise that is beside its configuration, in the checkout.
    STATE_DIRECTORY: STATE,
    PRICES_FILE: PRICES,
    ...Object.fromEntries(secretNames.map((secret) => [secret, secrets[secret]])),
  };
  const part = new Part({ name, command, args, environment, cwd: ROOT, logs: LOGS });
  parts.push(part);
  part.ended.then((reason) => {
    if (stopping) return;
    console.error(`\n${name}: ${reason}. Its last lines (${part.log}):\n${part.lastLines(20)}\n`);
    stop(1);
  });
}

/** Ends everything, then this process. */
function stop(status) {
  stopping ??= Promise.all(parts.map((part) => part.end())).then(() => process.exit(status));
  return stopping;
}

function onSignal() {
  if (stopping) parts.forEach((part) => part.kill());
  else console.log("\nstopping");
  stop(0);
}

async function startAll() {
  mkdirSync(LOGS, { recursive: true });
  mkdirSync(STATE, { recursive: true, mode: 0o700 });
  start("tools", path.join(PROGRAMS, "loadtest"), ["tools", "--port", String(ports.tools[0])]);
  await Promise.all(ports.tools.map((port) => untilOk(at(port, "/healthz"), PATIENCE_MS)));
  const proxy = path.join(PROGRAMS, "proxy");
  if (DIRECT) {
    if (process.env.AUTHORITY === "valkey") startValkey();
    start("proxy", proxy, ["-c", "conf/proxy.direct.toml"], ["KEY_SIGNING_SECRET", "ADMIN_SECRET"]);
  } else {
    start("proxy", proxy, ["-c", "conf/proxy.toml"], ["GRANT_SECRET"]);
    const worker = ["--worker", path.join(PROGRAMS, "worker"), "--var", `PRICES=${printPrices(proxy)}`];
    start("edge", process.execPath, ["scripts/edge.mjs", ...worker]);
  }
  await Promise.all([untilOk(at(ports.admin, "/readyz"), PATIENCE_MS), untilOk(at(ports[FRONT], "/healthz"), PATIENCE_MS)]);
}

/** The prices of calls as the edge has them. The proxy says what is wrong with the file. */
function printPrices(proxy) {
  const { status, stdout } = spawnSync(proxy, ["--print-prices", PRICES], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  if (status !== 0) throw new Error("the edge gets no prices");
  return stdout.trim();
}

/** Starts a server for the meters of keys, if one is installed. Otherwise says how to. */
function startValkey() {
  const options = ["--bind", HOST, "--port", VALKEY_PORT, "--dir", STATE, "--appendonly", "yes"];
  const installed = VALKEYS.find((name) => spawnSync(name, ["--version"]).status === 0);
  if (installed) start("valkey", installed, options);
  else console.log(`\nNo ${VALKEYS.join(" or ")} is installed. Free keys get 503 until one listens:\n\n  ${[VALKEYS[0], ...options].join(" ")}`);
}

async function issueKey() {
  const holder = { email: "demo@example.com", name: `Demo of ${COMMAND}`, tier: "free", biolink_plan: "business", admin_secret: secrets.ADMIN_SECRET };
  const response = await fetch(at(ports[FRONT], "/v1/keys/issue"), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(holder),
  });
  const body = await response.json();
  if (response.status !== 201) throw new Error(`issuing a key was answered ${response.status}: ${JSON.stringify(body)}`);
  return body.key;
}

const behindTheEdge = () => `  edge      ${at(ports.edge)}    the service; /openapi.json describes it
  console   ${at(ports.edge, "/console")}    sign in with the key below
  proxy     ${at(ports.proxy)}    takes only what the edge has signed`;

const direct = () => `  proxy     ${at(ports.proxy)}    the service, without an edge; /openapi.json describes it
  console   ${at(ports.proxy, "/console")}    sign in with the key below
  state     ${path.relative(process.cwd(), STATE)}${process.env.AUTHORITY === "valkey" ? `\n  valkey    ${HOST}:${VALKEY_PORT}    the limits of keys` : ""}`;

/** Only the edge serves bio-link pages. */
const pages = (key) => `
Make a bio-link page with the same key, and open the address in the response's urls.public:

  curl -X POST ${at(ports.edge, "/pages")} \\
    -H 'X-API-Key: ${key}' -H 'Content-Type: application/json' \\
    -d '{"title": "Ada", "status": "published", "links": [{"title": "News", "url": "https://example.com/news"}]}'
`;

/** How long it took from `make run` to here, by stage. */
function duration() {
  const { BUILD_SECONDS, BUILD_TIMES = "" } = process.env;
  const start = (performance.now() - started) / 1_000;
  if (!BUILD_SECONDS) return `(${start.toFixed(1)} s)`;
  const all = Math.round(Number(BUILD_SECONDS) + start);
  const minutes = all < 60 ? "" : `${Math.floor(all / 60)} min `;
  return `after ${minutes}${all % 60} s: ${BUILD_TIMES}start ${start.toFixed(1)} s`;
}

function banner(key) {
  return `
Unified Tool Gateway is up ${duration()}

${DIRECT ? direct() : behindTheEdge()}
  admin     ${at(ports.admin)}    /readyz, /pools, /metrics
  tools     ${at(ports.tools[0])} to ${ports.tools.at(-1)}, control on ${ports.control}
  logs      ${path.relative(process.cwd(), LOGS)}/${DIRECT ? "{proxy,tools}" : "{edge,proxy,tools}"}.log

Make a QR code, with a key that was issued just now (Free: 10 calls a minute):

  curl --fail-with-body -X POST ${at(ports[FRONT], "/v1/qr/generate")} \\
    -H 'X-API-Key: ${key}' -H 'Content-Type: application/json' \\
    -d '{"url": "https://example.com", "size": 256}' -o qr.svg
${DIRECT ? "" : pages(key)}
In your shell:        . ${path.relative(process.cwd(), VARIABLES)}     (sets BASE and KEY)
What the tools do:    ${at(ports[FRONT], DIRECT ? "/tools" : "/docs/tools")}     (they say so themselves; for programs: /tools, /tools/openapi.json)
What it has used:     curl ${at(ports[FRONT], "/v1/keys/me")} -H 'X-API-Key: ${key}'
Stop the qr tool:     curl -X POST ${at(ports.control, "/qr/stop")}     (its calls become 503; /qr/start heals them)

Ctrl-C stops everything.
`;
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, onSignal);
try {
  ports = portsFrom(process.env);
  const faults = await portFaults(DIRECT ? { ...ports, edge: undefined } : ports);
  if (faults.length) throw new Error(faults.join("\n"));
  await startAll();
  const key = await issueKey();
  writeFileSync(VARIABLES, `export BASE=${at(ports[FRONT])} KEY=${key}\n`, { mode: 0o600 });
  console.log(banner(key));
} catch (error) {
  if (!stopping) console.error(`error ${error.message}`);
  await stop(1);
}
