// A headless Chromium of the system's own: CHROMIUM, or the first that is found.
//
// Debian's `chromium-headless-shell` is the same engine without what surrounds a page in a window, and takes half of the processor.
// What it has not (it keeps no page that was left) and what measures a browser takes the whole one.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const WHOLE = ["chromium", "chromium-browser", "google-chrome"];
const ENGINE = ["chromium-headless-shell", ...WHOLE];
// It must not look for anything beyond the pages under test: the machine may have no way out.
const QUIET = [
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-gpu",
  "--disable-quic",
  "--disable-sync",
  "--no-first-run",
];

/** Starts the engine, which playwright controls. */
export function startChromium(more = []) {
  return chromium.launch({ executablePath: executable(ENGINE), args: [...options(), ...more] });
}

/** Starts a whole browser, which playwright controls. `without` are options of playwright's own that it does not get. */
export function startWholeChromium(more = [], without = []) {
  return chromium.launch({ executablePath: executable(WHOLE), args: [...options(), ...more], ignoreDefaultArgs: without });
}

/** Starts a whole browser, which Lighthouse controls, through `port`. `evaluate` evaluates an expression in a page of it. */
export async function startDebuggedChromium(more = []) {
  const profile = mkdtempSync(path.join(tmpdir(), "chromium-"));
  const args = [...options(), "--headless=new", "--remote-debugging-port=0", `--user-data-dir=${profile}`, ...more, "about:blank"];
  const [program, ...before] = [...measuredAlone(), executable(WHOLE)];
  const child = spawn(program, [...before, ...args], { stdio: ["ignore", "ignore", "pipe"] });
  // Not its exit: its processes write to the profile for a little longer, and have this pipe.
  const ended = once(child, "close");
  const end = async () => {
    child.kill("SIGTERM");
    await ended;
    rmSync(profile, { recursive: true, maxRetries: 5 });
  };
  for await (const line of createInterface({ input: child.stderr })) {
    const [, port] = line.match(/^DevTools listening on ws:\/\/[^:]+:(\d+)\//) ?? [];
    if (!port) continue;
    child.stderr.resume();
    return { port: Number(port), evaluate: (expression) => evaluate(Number(port), expression), end };
  }
  throw new Error("Chromium ended before it listened");
}

/**
 * What starts a program whose threads run before all others, whose time would be measured as its own: where the user may. Not a
 * nice value: Chromium sets those of its threads itself.
 */
function measuredAlone() {
  const ahead = ["--rr", "1"];
  return spawnSync("chrt", [...ahead, "true"]).status === 0 ? ["chrt", ...ahead] : [];
}

async function evaluate(port, expression) {
  const browser = await chromium.connectOverCDP(`http://127.0.0.1:${port}`);
  try {
    const [page] = browser.contexts()[0].pages();
    // playwright itself would have the page be light.
    await page.emulateMedia({ colorScheme: null });
    return await page.evaluate(expression);
  } finally {
    await browser.close();
  }
}

function options() {
  const sandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : []; // which Chromium refuses to have as root
  return [...QUIET, ...sandbox];
}

function executable(names) {
  return process.env.CHROMIUM || found(names);
}

function found(names) {
  const folders = process.env.PATH.split(path.delimiter);
  const candidates = names.flatMap((name) => folders.map((folder) => path.join(folder, name)));
  const first = candidates.find(isExecutable);
  if (!first) throw new Error("no Chromium: run scripts/browser.sh, or set CHROMIUM");
  return first;
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
