// A headless Chromium of the system's own: CHROMIUM, or the first that is found.
import { accessSync, constants } from "node:fs";
import path from "node:path";
import { chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];
// It must not look for anything beyond the pages under test: the machine may have no way out.
const QUIET = [
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-gpu",
  "--disable-quic",
  "--disable-sync",
  "--no-first-run",
];

export function startChromium() {
  const sandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : []; // which Chromium refuses to have as root
  return chromium.launch({ executablePath: process.env.CHROMIUM || found(), args: [...QUIET, ...sandbox] });
}

function found() {
  const folders = process.env.PATH.split(path.delimiter);
  const candidates = NAMES.flatMap((name) => folders.map((folder) => path.join(folder, name)));
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
