// Writes tables: lines of texts that biolink/src/visitor/bot.rs reads, and static data of biolink/src/visitor/bot/program.rs.

/** Returns a line of each `[literal, value]`: the value as a character from `0` on, then the literal. Literals with the
 * same first byte follow each other, the longest first. */
export function literalLines(entries) {
  const sorted = [...entries].sort(([a], [b]) => a.charCodeAt(0) - b.charCodeAt(0) || b.length - a.length || (a < b ? -1 : 1));
  const lines = sorted.map(([literal, value]) => {
    if (!/^[ -~]{1,127}$/.test(literal)) throw new Error(`not a printable literal: ${literal}`);
    return `${String.fromCharCode(48 + value)}${literal}\n`;
  });
  return lines.join("");
}

/** Returns a line of each class and length: both as a character from `0` on, then the names, without anything between
 * them, which compresses best. */
export function runLines(entries) {
  const runs = new Map();
  for (const [text, value] of [...entries].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const key = String.fromCharCode(48 + value, 48 + text.length);
    runs.set(key, (runs.get(key) ?? "") + text);
  }
  return [...runs].sort().map((run) => `${run.join("")}\n`).join("");
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
