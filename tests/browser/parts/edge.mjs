// The built worker in workerd, for the length of a test file.
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";

const ROOT = path.resolve(import.meta.dirname, "../../..");
export const ADMIN_SECRET = "admin-secret-of-the-browser-tests-01234567";
export const KEY_SIGNING_SECRET = "key-signing-secret-of-the-browser-tests-01";
export const GRANT_SECRET = "grant-secret-of-the-browser-tests-01234567";

/** Starts it with nothing stored, and with no proxy behind it unless one is named; `origin` is where it listens. */
export async function startEdge(proxy = "http://127.0.0.1:9") {
  const child = spawn(process.execPath, ["scripts/edge.mjs", "--port", "0", "--state", "memory", "--origin", proxy], {
    cwd: ROOT,
    env: {
      ...process.env,
      ADMIN_SECRET,
      KEY_SIGNING_SECRET,
      GRANT_SECRET,
      WEBHOOK_ENCRYPTION_SECRET: "webhook-secret-of-the-browser-tests-0123456",
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const origin = await listening(child);
  return { origin, issueKey: (more) => issueKey(origin, more), end: () => end(child) };
}

async function listening(child) {
  for await (const line of createInterface({ input: child.stdout })) {
    const [, origin] = line.match(/^edge listening on (http:\S+)$/) ?? [];
    if (origin) {
      child.stdout.resume();
      return origin;
    }
  }
  throw new Error("the edge ended before it listened");
}

/** Issues a Free key; `more` are further fields of the request. */
export async function issueKey(origin, more = {}, adminSecret = ADMIN_SECRET) {
  const response = await fetch(`${origin}/v1/keys/issue`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email: "ada@example.com", name: "Ada", tier: "free", admin_secret: adminSecret, ...more }),
  });
  return (await response.json()).key;
}

async function end(child) {
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}
