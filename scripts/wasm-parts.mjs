// Fails if a Worker's wasm has functions of what the other one serves: node scripts/wasm-parts.mjs gateway FILE.names
// The names are those that scripts/wasm-names.mjs has moved out of the module.
import { readFileSync } from "node:fs";
import { argv } from "node:process";

/** What must not be linked, and what must be: without the latter a file without names would pass. */
const PARTS = {
  gateway: {
    foreign: /\b(biolink::|edge_worker::(biolink|portal)::|portal::(mcp|oauth|session|openapi)::|qrcode::|png::|idna::)/,
    own: /\bedge_worker::gateway::durable::meter\b/,
  },
  pages: {
    foreign: /\bedge_worker::gateway::(durable|handlers::(direct_mode|incidents|issue_key|status))\b/,
    own: /\bbiolink::page\b/,
  },
};

const [, , worker, file] = argv;
const { foreign, own } = PARTS[worker];
const names = readFileSync(file, "utf8").split("\n");
const found = names.filter((name) => foreign.test(name));
if (found.length > 0 || !names.some((name) => own.test(name))) {
  const what = found.length > 0 ? `has ${found.length} functions of the other Worker:\n${found.slice(0, 20).join("\n")}` : "has no function of its own";
  console.error(`${file} ${what}`);
  process.exit(1);
}
