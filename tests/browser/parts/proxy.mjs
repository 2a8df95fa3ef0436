// The proxy with one server behind it that is every tool, for the length of a test file.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { until } from "./analytics.mjs";
import { ADMIN_SECRET, GRANT_SECRET, issueKey, KEY_SIGNING_SECRET } from "./edge.mjs";

const ROOT = path.resolve(import.meta.dirname, "../../..");
const PROGRAM = path.join(process.env.CARGO_TARGET_DIR || path.join(ROOT, "target"), "debug/proxy");
const TOOLS = [...readFileSync(path.join(ROOT, "conf/proxy.toml"), "utf8").matchAll(/^(\w+)\.upstreams/gm)].map(([, tool]) => tool);

/** Starts it behind an edge, with a server at an address; `origin` is where it listens. */
export const startProxy = (server) => start(server, () => ["[grants]", `secret = "${GRANT_SECRET}"`]);

/** Starts it without an edge. Its servers have been probed. */
export async function startDirect(server) {
  const keys = (folder) => ["[keys]", "direct = true", `secret = "${KEY_SIGNING_SECRET}"`, `admin_secret = "${ADMIN_SECRET}"`, `state = "${folder}/keys"`];
  const { origin, admin, end } = await start(server, keys);
  await until("every server is probed", async () => (await fetch(`${admin}/readyz`)).ok);
  return { origin, end, issueKey: (more) => issueKey(origin, more) };
}

async function start(server, mode) {
  const folder = mkdtempSync(path.join(tmpdir(), "proxy-"));
  const file = path.join(folder, "proxy.toml");
  const pools = TOOLS.map((tool) => `${tool}.upstreams = ["${server}"]`);
  writeFileSync(file, [
    "[server]", 'listen = "127.0.0.1:0"', 'admin = "127.0.0.1:0"', ...mode(folder),
    "[defaults]", 'describe = "/openapi.json"', "[log]", 'level = "error"', "[pools]", ...pools,
  ].join("\n"));
  const child = spawn(PROGRAM, ["--config", file], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const end = async () => {
    child.kill("SIGTERM");
    await ended;
    rmSync(folder, { recursive: true });
  };
  for await (const line of createInterface({ input: child.stdout })) {
    const { listen, admin } = JSON.parse(line);
    child.stdout.resume();
    return { origin: `http://${listen}`, admin: `http://${admin}`, end };
  }
  throw new Error("the proxy ended before it listened");
}
