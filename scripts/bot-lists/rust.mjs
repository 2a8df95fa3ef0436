// Writes tables as Rust: static data that biolink/src/visitor/bot/literals.rs searches.

const FIRST = 32, GROUPS = 96;

/** Returns a `Literals` of `[literal, value]`, grouped by the first byte, the longest first. */
export function literalsTable(name, doc, entries) {
  const sorted = [...entries].sort(([a], [b]) => a.charCodeAt(0) - b.charCodeAt(0) || b.length - a.length || (a < b ? -1 : 1));
  const groups = Array.from({ length: GROUPS }, () => ({ start: 0, end: 0, seconds: 0 }));
  let offset = 0;
  for (const [literal] of sorted) {
    if (!/^[ -~]{1,127}$/.test(literal)) throw new Error(`not a printable literal: ${literal}`);
    const group = groups[literal.charCodeAt(0) - FIRST];
    if (group.end === 0) group.start = offset;
    offset += literal.length + 2;
    group.end = offset;
    group.seconds |= literal.length === 1 ? -1 : 1 << (literal.charCodeAt(1) & 31);
  }
  const texts = sorted.map(([literal, value]) => `        "${escape(literal.length)}${escape(value)}${literal.replace(/[\\"]/g, "\\$&")}",`);
  const rows = groups.map(({ start, end, seconds }) => `        (${start}, ${end}, 0x${(seconds >>> 0).toString(16)}),`);
  return [
    `/// ${doc}`,
    `pub(super) static ${name}: Literals = Literals {`,
    "    entries: concat!(", ...texts, "    ),",
    "    groups: [", ...rows, "    ],",
    "};", "",
  ].join("\n");
}

const escape = (value) => `\\u{${value.toString(16)}}`;

/** Returns names in runs of one class and length, without anything between them, which compresses best. */
export function runsTable(name, doc, entries) {
  const runs = new Map();
  for (const [text, value] of [...entries].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const key = `${String(value).padStart(3)} ${String(text.length).padStart(3)}`;
    runs.set(key, [...(runs.get(key) ?? []), text]);
  }
  const rows = [...runs].sort().map(([key, texts]) => `    (${key.trim().split(/ +/).join(", ")}, "${texts.join("").replace(/[\\"]/g, "\\$&")}"),`);
  return [`/// ${doc}`, `pub(super) static ${name}: [(u8, usize, &str); ${rows.length}] = [`, ...rows, "];", ""].join("\n");
}

/** Returns byte strings. */
export function programsTable(name, doc, programs) {
  const bytes = programs.map((program) => `    b"${program.map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("")}",`);
  return [`/// ${doc}`, `pub(super) static ${name}: [&[u8]; ${programs.length}] = [`, ...bytes, "];", ""].join("\n");
}

/** Returns masks of ASCII characters. */
export function masksTable(name, doc, masks) {
  const rows = masks.map((mask) => `    0x${mask.toString(16)},`);
  return [`/// ${doc}`, `pub(super) static ${name}: [u128; ${masks.length}] = [`, ...rows, "];", ""].join("\n");
}
