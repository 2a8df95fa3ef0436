// The proxy with one server behind it that is every tool, for the length of a test file.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { GRANT_SECRET } from "./edge.mjs";

const ROOT = path.resolve(import.meta.dirname, "../../..");
const PROGRAM = path.join(process.env.CARGO_TARGET_DIR || path.join(ROOT, "target"), "debug/proxy");
const TOOLS = readFileSync(path.join(ROOT, "conf/proxy.toml"), "utf8").matchAll(/^(\w+)\.upstreams/gm);

/** Starts it with a server at an address; `origin` is where it listens. */
export async function startProxy(server) {
  const folder = mkdtempSync(path.join(tmpdir(), "proxy-"));
  const file = path.join(folder, "proxy.toml");
  const pools = [...TOOLS].map(([, tool]) => `${tool}.upstreams = ["${server}"]`);
  writeFileSync(file, [
    "[server]", 'listen = "127.0.0.1:0"', 'admin = "127.0.0.1:0"', "[grants]", `secret = "${GRANT_SECRET}"`,
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
    const { listen } = JSON.parse(line);
    child.stdout.resume();
    return { origin: `http://${listen}`, end };
  }
  throw new Error("the proxy ended before it listened");
}
