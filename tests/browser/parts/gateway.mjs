// Edge, proxy and demo tools, for the length of a test.
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import { issueKey } from "./edge.mjs";

const ROOT = path.resolve(import.meta.dirname, "../../..");
const PROGRAM = path.join(process.env.CARGO_TARGET_DIR || path.join(ROOT, "target"), "debug/with-gateway");
/** Says where the parts are, and keeps them until its input ends. */
const HOLD = 'echo "started $GATEWAY_URL $GATEWAY_KEY $TOOLS_CONTROL $ADMIN_SECRET $RESOLVER_URL"; cat';

/**
 * Starts them. `key` is an API key, and `control(tool, "stop" | "start")` ends or starts a tool. At the boundary
 * `edge-with-domains` accounts have domains, whose records `setRecord` sets, and addresses have a host that is not `origin`.
 */
export async function startGateway(boundary = "edge") {
  const child = spawn(PROGRAM, [boundary, "sh", "-c", HOLD], { cwd: ROOT, stdio: ["pipe", "pipe", "inherit"] });
  const [origin, key, tools, adminSecret, resolver] = await started(child);
  const control = async (tool, order) => {
    const response = await fetch(`${tools}/${tool}/${order}`, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
    if (!response.ok) throw new Error(`${tool} ${order}: ${response.status} ${await response.text()}`);
  };
  const setRecord = ({ name, value }) => fetch(`${resolver}/?name=${name}&text=${value}`, { method: "POST" });
  return { origin, key, adminSecret, control, setRecord, issueKey: (more) => issueKey(origin, more, adminSecret), end: () => end(child) };
}

async function started(child) {
  for await (const line of createInterface({ input: child.stdout })) {
    const [word, ...parts] = line.split(" ");
    if (word === "started") return parts;
  }
  throw new Error("the gateway ended before it had started");
}

async function end(child) {
  const ended = once(child, "exit");
  child.stdin.end();
  await ended;
}
