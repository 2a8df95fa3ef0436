// Drops the hashes from the function names of a wasm module: node scripts/wasm-names.mjs FILE
// The compiler makes a name unique by 16 random digits, which do not compress. A stack trace is as
// legible without them, and the module stays the same otherwise.
import { readFileSync, writeFileSync } from "node:fs";
import { argv } from "node:process";

const CUSTOM_SECTION = 0;
const FUNCTION_NAMES = 1;
const HASHES = [
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

function number(value) {
  const bytes = [];
  for (; value >= 0x80; value = Math.floor(value / 0x80)) bytes.push((value % 0x80) | 0x80);
  return Buffer.from([...bytes, value]);
}

const sized = (bytes) => Buffer.concat([number(bytes.length), bytes]);

const withoutHashes = (name) => HASHES.reduce((text, hash) => text.replace(hash, ""), name);

function shortFunctionNames(names) {
  const reader = new Reader(names);
  const count = reader.number();
  const out = [number(count)];
  for (let i = 0; i < count; i++) {
    out.push(number(reader.number()));
    out.push(sized(Buffer.from(withoutHashes(reader.sized().toString()))));
  }
  return Buffer.concat(out);
}

function shortNames(section) {
  const reader = new Reader(section);
  const out = [];
  while (!reader.atEnd) {
    const id = reader.byte();
    const names = reader.sized();
    out.push(Buffer.from([id]), sized(id === FUNCTION_NAMES ? shortFunctionNames(names) : names));
  }
  return Buffer.concat(out);
}

function shorten(module) {
  const reader = new Reader(module);
  const out = [reader.take(8)];
  while (!reader.atEnd) {
    const id = reader.byte();
    let section = reader.sized();
    if (id === CUSTOM_SECTION) {
      const content = new Reader(section);
      const name = content.sized();
      const rest = section.subarray(content.at);
      if (name.toString() === "name") section = Buffer.concat([sized(name), shortNames(rest)]);
    }
    out.push(Buffer.from([id]), sized(section));
  }
  return Buffer.concat(out);
}

const [file] = argv.slice(2);
const module = readFileSync(file);
if (module.subarray(0, 4).toString("latin1") !== "\0asm") throw new Error(`${file} is not a wasm module`);
writeFileSync(file, shorten(module));
