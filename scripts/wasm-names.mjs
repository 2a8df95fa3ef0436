// Moves the function names of a wasm module to a file beside it: node scripts/wasm-names.mjs FILE.wasm
// A deployed worker is 6 % smaller without them. A stack trace then has numbers, which the file resolves:
//   node scripts/wasm-names.mjs --resolve FILE.wasm < trace
// What weighs how much, by module, as a table of what has more than 5 KiB of code:
//   node scripts/wasm-names.mjs --weigh FILE.wasm
// The functions with their sizes, a line each: number, bytes of the body, name:
//   node scripts/wasm-names.mjs --list FILE.wasm
// Before all that, puts the place of each function before its name, for `wasm-opt --reorder-functions-by-name`: next to those that
// it is like, so that a compressor finds the one in its window when it comes to the other:
//   node scripts/wasm-names.mjs --place FILE.wasm
import { readFileSync, writeFileSync } from "node:fs";
import { argv } from "node:process";

const CUSTOM_SECTION = 0;
const IMPORT_SECTION = 2;
const CODE_SECTION = 10;
const FUNCTION_NAMES = 1;
const HASHES = [
  // The place that `--place` wrote.
  /^\d{6} /,
  // `…::h0123456789abcdef`, with what wasm-opt appends to a name that it copies.
  /::h[0-9a-f]{16}(\.\d+)?$/,
  // `core[0123456789abcdef]::…`
  /\[[0-9a-f]{10,16}\]/g,
  // `…::__wbg_text_0123456789abcdef`
  /(?<=__wbg_\w+)_[0-9a-f]{16}$/,
];

/** Reads a module's bytes from a position. */
class Reader {
  constructor(bytes, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }
  get atEnd() {
    return this.at >= this.bytes.length;
  }
  byte() {
    return this.bytes[this.at++];
  }
  /** An unsigned LEB128 number of 32 bits. */
  number() {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }
  take(length) {
    if (this.at + length > this.bytes.length) throw new Error(`the module ends within ${length} bytes at ${this.at}`);
    return this.bytes.subarray(this.at, (this.at += length));
  }
  sized() {
    return this.take(this.number());
  }
}

/** A name without what only a tool needs. */
const withoutHashes = (name) => HASHES.reduce((text, hash) => text.replace(hash, ""), name);

/** The numbers of functions and their names, of a section of names. */
function* namesOf(section) {
  const reader = new Reader(section);
  while (!reader.atEnd) {
    const id = reader.byte();
    const names = new Reader(reader.sized());
    if (id !== FUNCTION_NAMES) continue;
    for (let left = names.number(); left > 0; left--) yield [names.number(), names.sized().toString()];
  }
}

/** Splits a module into what runs and the names of its functions. */
function split(module) {
  const reader = new Reader(module);
  const kept = [reader.take(8)];
  const names = new Map();
  while (!reader.atEnd) {
    const start = reader.at;
    const id = reader.byte();
    const content = new Reader(reader.sized());
    if (id === CUSTOM_SECTION && content.sized().toString() === "name") {
      for (const [number, name] of namesOf(content.bytes.subarray(content.at))) names.set(number, name);
    } else kept.push(module.subarray(start, reader.at));
  }
  return { module: Buffer.concat(kept), names };
}

/** The names of a file: a function's number and its name in a line. */
const read = (lines) => new Map(lines.split("\n").map((line) => [Number(line.split(" ", 1)[0]), line.slice(line.indexOf(" ") + 1)]));

/** A stack trace with names for numbers. */
const resolve = (trace, names) => trace.replace(/wasm-function\[(\d+)\]/g, (all, number) => names.get(Number(number)) ?? all);

/** The sections of a module: their numbers and their contents. */
function* sections(module) {
  const reader = new Reader(module, 8);
  while (!reader.atEnd) yield [reader.byte(), new Reader(reader.sized())];
}

/** How many functions a module imports, which have the first numbers. wasm-bindgen imports functions, and a tag. */
function importedFunctions(reader) {
  let functions = 0;
  for (let left = reader.number(); left > 0; left--) {
    reader.sized();
    reader.sized();
    const isFunction = reader.byte() === 0;
    if (isFunction) functions++;
    else reader.byte();
    reader.number();
  }
  return functions;
}

/** The module of a function, to two segments of its path. What implements a trait counts for the type. */
function moduleOf(name) {
  const path = name.replace(/^<(?:impl )?(?:&|mut |dyn )*/, "").replace(/^.* for (?=\w+::)/, "");
  const [crate, part = ""] = path.split(/[^\w:]/, 1)[0].split("::");
  return /^[a-z]/.test(part) ? `${crate}::${part}` : crate;
}

/** The functions of a module: number, body, name. */
function* functions(module, names) {
  let number = 0;
  for (const [id, content] of sections(module)) {
    if (id === IMPORT_SECTION) number = importedFunctions(content);
    if (id !== CODE_SECTION) continue;
    for (let left = content.number(); left > 0; left--, number++) yield [number, content.sized(), names.get(number) ?? "unnamed"];
  }
}

/** The weight of each module: KiB of code, and functions. */
function weights(module, names) {
  const found = new Map();
  let number = 0;
  for (const [place, body, name] of functions(module, names)) {
    const of = moduleOf(name);
    const [bytes, count] = found.get(of) ?? [0, 0];
    found.set(of, [bytes + body.length, count + 1]);
    number = place + 1;
  }
  const rows = [...found].filter(([, [bytes]]) => bytes > 5 * 1024).sort(([, [a]], [, [b]]) => b - a);
  const all = [...found.values()].reduce((sum, [bytes]) => sum + bytes, 0);
  const row = (of, bytes, count) => `| ${of} | ${(bytes / 1024).toFixed(0)} | ${count} |\n`;
  return `| module | KiB | functions |\n|---|---|---|\n${row("all code", all, number)}${rows.map(([of, weight]) => row(`\`${of}\``, ...weight)).join("")}`;
}

/** Bytes of a function that are compared as one. */
const PIECE = 6;
/** What is in more functions than this says nothing of any. */
const MOST_LIKE = 400;
/** wasm-opt has sorted functions by how many calls they have, and the number of the first ones takes one byte in each. */
const SHORT_NUMBERS = 128;

/** The pieces of a body, a quarter of them: the same ones in all functions. */
function pieces(body) {
  const found = new Set();
  for (let at = 0; at + PIECE <= body.length; at++) {
    let hash = 0;
    for (let byte = at; byte < at + PIECE; byte++) hash = (Math.imul(hash, 0x9e3779b1) ^ body[byte]) >>> 0;
    hash = (hash ^ (hash >>> 15)) >>> 0;
    if (hash % 4 === 0) found.add(hash);
  }
  return found;
}

/** The numbers of functions, each after those that have most in common with it; what has nothing in common, by size. */
function likeNext(bodies) {
  const having = new Map();
  const left = new Map();
  for (const [number, body] of bodies) {
    const own = pieces(body);
    left.set(number, own);
    for (const piece of own) having.set(piece, [...(having.get(piece) ?? []), number]);
  }
  for (const [number, own] of left) left.set(number, [...own].filter((piece) => having.get(piece).length > 1 && having.get(piece).length < MOST_LIKE));
  const bySize = bodies.toSorted(([one, body], [other, next]) => next.length - body.length || one - other).map(([number]) => number);
  const placed = [];
  const last = [];
  for (let next = bySize.shift(); next !== undefined; ) {
    placed.push(next);
    last.push(left.get(next));
    if (last.length > 8) last.shift();
    left.delete(next);
    const scores = new Map();
    for (const piece of last.flat()) {
      const others = having.get(piece);
      for (const other of others) if (left.has(other)) scores.set(other, (scores.get(other) ?? 0) + 1 / Math.sqrt(others.length));
    }
    let best = 0;
    next = undefined;
    for (const [other, score] of scores) {
      // A long one has much in common with each.
      const like = score / Math.sqrt(left.get(other).length + 20);
      if (like > best) [best, next] = [like, other];
    }
    while (next === undefined && bySize.length > 0) {
      const longest = bySize.shift();
      if (left.has(longest)) next = longest;
    }
  }
  return placed;
}

const encoded = (number) => (number < 0x80 ? [number] : [(number & 0x7f) | 0x80, ...encoded(number >>> 7)]);
const sized = (bytes) => Buffer.concat([Buffer.from(encoded(bytes.length)), bytes]);

/** A module whose functions have their places before their names. */
function placed({ module, names }) {
  const bodies = [...functions(module, names)];
  const order = [...bodies.slice(0, SHORT_NUMBERS).map(([number]) => number), ...likeNext(bodies.slice(SHORT_NUMBERS))];
  const named = new Map(names);
  for (const [place, number] of order.entries()) named.set(number, `${String(place).padStart(6, "0")} ${names.get(number) ?? ""}`);
  const entries = [...named].sort(([one], [other]) => one - other).map(([number, name]) => [Buffer.from(encoded(number)), sized(Buffer.from(name))]);
  const list = Buffer.concat([Buffer.from(encoded(entries.length)), ...entries.flat()]);
  const section = Buffer.concat([sized(Buffer.from("name")), Buffer.from([FUNCTION_NAMES]), sized(list)]);
  return Buffer.concat([module, Buffer.from([CUSTOM_SECTION]), sized(section)]);
}

const mode = argv[2]?.startsWith("--") ? argv[2] : "";
const file = argv[mode ? 3 : 2];
const namesFile = file.replace(/\.wasm$/, ".names");
const known = () => read(readFileSync(namesFile, "utf8"));
if (mode === "--weigh") {
  process.stdout.write(weights(readFileSync(file), known()));
} else if (mode === "--list") {
  for (const [number, body, name] of functions(readFileSync(file), known())) process.stdout.write(`${number} ${body.length} ${name}\n`);
} else if (mode === "--resolve") {
  process.stdout.write(resolve(readFileSync(0, "utf8"), known()));
} else {
  const module = readFileSync(file);
  if (module.subarray(0, 4).toString("latin1") !== "\0asm") throw new Error(`${file} is not a wasm module`);
  const parts = split(module);
  if (mode === "--place") {
    writeFileSync(file, placed(parts));
  } else {
    const lines = [...parts.names].map(([number, name]) => `${number} ${withoutHashes(name)}\n`);
    if (lines.length > 0) writeFileSync(namesFile, lines.join(""));
    writeFileSync(file, parts.module);
  }
}
