// The views of the console: the addresses that its web app knows, so a view that is new is among them.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";

const SOURCES = path.resolve(import.meta.dirname, "../../../portal/web/src");

/** The names of the parameters that views read of their query. */
function parameters() {
  const files = readdirSync(SOURCES, { recursive: true }).filter((name) => /\.(svelte|ts)$/.test(name));
  const names = files.flatMap((name) => [...readFileSync(path.join(SOURCES, name), "utf8").matchAll(/query\.get\("(\w+)"\)/g)].map(([, found]) => found));
  assert.ok(names.includes("q") && names.includes("interval"), String(names));
  return [...new Set(names)];
}

/**
 * Every address of the holder of a key and of an administrator: each view without a query, and with `text` as each parameter.
 * `ids` are those of the views that have one.
 */
export function readViews(ids, text) {
  const [before, rest] = readFileSync(path.join(SOURCES, "lib/views.ts"), "utf8").split("const OF_KEY");
  const [ofKey, ofAdmin] = rest.split("const OF_ADMIN");
  const patterns = (part) => [...part.matchAll(/\["(\/[^"]*)"/g)].map(([, pattern]) => pattern);
  const query = `?${new URLSearchParams(parameters().map((name) => [name, text]))}`;
  const addresses = (part) => [...new Set([...patterns(part), ...patterns(before)])].flatMap((pattern) => {
    const id = ids[pattern];
    assert.ok(id || !pattern.includes("*"), `${pattern}: the test has nothing to show there`);
    const address = pattern.replace("*", id);
    return [address, address + query];
  });
  return { key: addresses(ofKey), admin: addresses(ofAdmin) };
}
