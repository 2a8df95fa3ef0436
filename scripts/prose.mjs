// How the code reads, as numbers: `node scripts/prose.mjs [crate …]` counts words of rustdoc, inline comments, lengths of files and
// of functions.
// A measure, not a gate: CONTRIBUTING's style section says what to aim at. The row "documents" counts the words of the
// Markdown files, without their blocks of code.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { codeAndComments, docComments, functionLengths, maskText, testLines } from "./prose/rust.mjs";

const WORDS = {
  returns: /\breturns\b/gi,
  answer: /\banswer(s|ed|ing)?\b/gi,
  "told/tells": /\b(told|tells?|telling)\b/gi,
  "nobody/somebody": /\b(nobody|somebody)\b/gi,
  // Fixed, rarely, more expensive, generated, cut off, what happens to, exactly n, its own, continues, reconciliation.
  dialect: new RegExp(
    [
      String.raw`\bmend(s|ed|ing)?\b`, // not "amend", not "recommend"
      String.raw`\b(seldom|dearer)\b`,
      String.raw`\b(is|was|are|were|be) drawn (anew|at random|for each|once)\b`, // not "drawn" of a picture
      String.raw`\b(broke|breaks?|broken|breaking) off\b`,
      String.raw`\b(becomes?|became) of\b`,
      String.raw`\b(is|are|be) so many\b`,
      String.raw`\bof (its|their|your|one's) own\b(?! accord)`,
      String.raw`\b(goes|go|went) on\b(?! to\b)`,
      String.raw`\bbalanced books\b|\bits books\b|\bthe books (balance|are)`,
      String.raw`(?<!\bthere )\bis none\b(?! of)|\bis away\b(?! of)`, // "if there is none" is plain English
    ].join("|"),
    "gi",
  ),
  "at once": /\bat once\b/gi, // "immediately", or "at the same time"
};
const QUESTION = /^(what|whether|who|whom|whose|how|which|where|when|why)\b/i;
const LONG_FUNCTION = 70;

const COLUMNS = [
  ["words", (c) => c.words],
  ...Object.keys(WORDS).map((name) => [`${name} ‰`, (c) => rate(c.counts[name], c.words, 1000, 2)]),
  ["question %", (c) => rate(c.questions, c.comments, 100, 1)],
  ["without whether %", (c) => rate(c.questions - c.whether, c.comments, 100, 1)],
  ["why %", (c) => rate(c.inline, c.code, 100, 1)],
  ["files", (c) => c.files.length],
  ["median file", (c) => median(c.files)],
  ["functions", (c) => c.functions],
  [`> ${LONG_FUNCTION} lines %`, (c) => rate(c.long, c.functions, 100, 2)],
];
const AIMS = ["aim", "", "≥ 2.4", "≤ 0.5", "≤ 0.3", "0", "0", "≤ 0.1", "", "≤ 6", "≥ 2.5", "", "≤ 120", "", "≤ 0.2"];

class Counts {
  words = 0;
  counts = Object.fromEntries(Object.keys(WORDS).map((name) => [name, 0]));
  comments = 0;
  questions = 0;
  whether = 0;
  code = 0;
  inline = 0;
  files = [];
  functions = 0;
  long = 0;

  addComment(text) {
    this.comments += 1;
    const question = QUESTION.exec(text);
    if (question) this.questions += 1;
    if (question?.[0].toLowerCase() === "whether") this.whether += 1;
    this.addText(text);
  }

  addText(text) {
    this.words += text.match(/[\p{L}\p{N}_'’]+/gu)?.length ?? 0;
    for (const [name, pattern] of Object.entries(WORDS)) this.counts[name] += text.match(pattern)?.length ?? 0;
  }

  addFunction(lines) {
    this.functions += 1;
    if (lines > LONG_FUNCTION) this.long += 1;
  }

  merge(other) {
    for (const name of ["words", "comments", "questions", "whether", "code", "inline"]) this[name] += other[name];
    for (const name of ["functions", "long"]) this[name] += other[name];
    for (const name of Object.keys(WORDS)) this.counts[name] += other.counts[name];
    this.files.push(...other.files);
  }
}

const rate = (part, whole, per, digits) => (whole === 0 ? "–" : ((part * per) / whole).toFixed(digits));

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return "–";
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// Adds a file to its crate's production code, its tests, or, with a `#[cfg(test)]` module, to both.
function addFile(file, isTest, production, tests) {
  const source = readFileSync(file, "utf8");
  const masked = maskText(source);
  const inTest = isTest ? () => true : testLines(masked);
  const lines = source.trimEnd().split("\n").map((_, index) => inTest(index));
  const own = lines.filter((test) => !test).length;
  if (own > 0) production.files.push(own);
  if (own === 0) tests.files.push(lines.length);
  for (const { line, text } of docComments(source, masked)) (inTest(line) ? tests : production).addComment(text);
  const { code, comments } = codeAndComments(source);
  for (const line of code) (inTest(line) ? tests : production).code += 1;
  for (const line of comments) (inTest(line) ? tests : production).inline += 1;
  for (const { line, length } of functionLengths(masked)) (inTest(line) ? tests : production).addFunction(length);
}

function print(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)));
  for (const row of rows) {
    console.log(row.map((cell, i) => (i ? String(cell).padStart(widths[i]) : cell.padEnd(widths[i]))).join("  "));
  }
}

const list = (pattern) => execFileSync("git", ["ls-files", pattern], { encoding: "utf8" }).split("\n").filter(Boolean);
const crates = list("*Cargo.toml").map(path.dirname).filter((folder) => folder !== ".");
const crateOf = (file) => crates.filter((crate) => file.startsWith(`${crate}/`)).sort((a, b) => b.length - a.length)[0];
const wanted = new Set(process.argv.slice(2));
const sources = list("*.rs").map((file) => ({ file, crate: crateOf(file) })).filter(({ crate }) => crate);
const unknown = [...wanted].filter((name) => !crates.includes(name));
if (unknown.length > 0) throw new Error(`unknown crate ${unknown.join(", ")}: expected ${crates.join(", ")}`);

const rows = [["crate", ...COLUMNS.map(([title]) => title)]];
const totals = { production: new Counts(), tests: new Counts() };
for (const crate of crates.filter((name) => wanted.size === 0 || wanted.has(name))) {
  const parts = { production: new Counts(), tests: new Counts() };
  for (const { file } of sources.filter((source) => source.crate === crate)) {
    const isTest = /(^|\/)((tests|benches|examples)\/|tests\.rs$)/.test(file);
    addFile(file, isTest, parts.production, parts.tests);
  }
  for (const [kind, counts] of Object.entries(parts)) {
    if (counts.functions > 0) rows.push([`${crate}, ${kind}`, ...COLUMNS.map(([, cell]) => cell(counts))]);
    totals[kind].merge(counts);
  }
}
for (const [kind, counts] of Object.entries(totals)) rows.push([`all, ${kind}`, ...COLUMNS.map(([, cell]) => cell(counts))]);
const all = new Counts();
Object.values(totals).forEach((counts) => all.merge(counts));
rows.push(["all", ...COLUMNS.map(([, cell]) => cell(all))]);
if (wanted.size === 0) {
  const documents = new Counts();
  // CONTRIBUTING quotes the words to avoid.
  for (const file of list("*.md").filter((name) => name !== "CONTRIBUTING.md")) {
    documents.addText(readFileSync(file, "utf8").replace(/^```.*?^```/gms, "").replace(/\s+/g, " "));
  }
  rows.push(["documents", ...COLUMNS.map(([title, cell]) => (title === "words" || title.endsWith("‰") ? cell(documents) : "–"))]);
}
rows.push(AIMS);
print(rows);
