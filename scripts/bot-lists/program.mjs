// Compiles one alternative of a regular expression into what biolink/src/visitor/bot/program.rs executes.
// What it cannot express is an error, so that a renewal never changes the meaning of a pattern silently.

const MATCH = 0, CHAR = 1, CLASS = 2, WIDE_CLASS = 3, SPLIT = 4, JUMP = 5, START = 6, END = 7, BOUNDARY = 8, NOT_BEHIND = 9,
  NOT_AHEAD = 10, BEHIND_WORD = 11, SKIP = 12;

/** The classes of characters that programs use, each as a mask of the ASCII characters. */
export const classes = [];

/** Reads an alternative: where it is anchored, the literal that it begins with, and the program for all of it. */
export function compile(alternative) {
  let elements = rewrite(alternative.elements);
  const anchored = elements[0]?.kind === "start";
  const assertions = [];
  while (elements.length && isAssertion(elements[0])) assertions.push(elements.shift());
  let literal = "";
  while (elements[0]?.type === "Character") literal += lower(elements.shift());
  if (!anchored && literal === "") throw new Error(`no literal to search for: ${alternative.raw}`);
  const plain = elements.length === 0 && assertions.every((assertion) => assertion.kind === "start");
  if (plain) return { anchored, literal, program: null };
  const code = [];
  for (const assertion of assertions) emit(assertion, code);
  if (literal) code.push(SKIP, literal.length);
  for (const element of elements) emit(element, code);
  code.push(MATCH);
  if (code.length > 255) throw new Error(`program too long: ${alternative.raw}`);
  return { anchored, literal, program: code };
}

// For the question whether there is a match anywhere, `(?:^|[^x])y` is `(?<!x)y`, and `\b\w+y` is `(?<=\w)y`.
function rewrite(elements) {
  const [first, second, ...rest] = elements;
  const [start, other] = first?.type === "Group" ? first.alternatives.map((one) => one.elements) : [];
  if (start?.length === 1 && start[0].kind === "start" && other?.length === 1 && other[0].negate) {
    const excluded = other[0].elements.map(lower);
    return [{ type: "Behind", literals: excluded }, second, ...rest];
  }
  const isWord = second?.type === "Quantifier" && second.raw === "\\w+";
  return first?.kind === "word" && !first.negate && isWord ? [{ type: "BehindWord" }, ...rest] : [...elements];
}

const isAssertion = (element) => ["Assertion", "Behind", "BehindWord"].includes(element.type) && element.kind !== "lookahead" && element.kind !== "end";

function lower(character) {
  if (character.type !== "Character" || character.value > 126 || character.value < 32) throw new Error(`character ${character.raw}`);
  return String.fromCharCode(character.value).toLowerCase();
}

function emit(element, code) {
  switch (element.type) {
    case "Character": return code.push(CHAR, lower(element).charCodeAt(0));
    case "CharacterSet":
    case "CharacterClass": return emitClass(element.raw, code);
    case "Quantifier": return emitQuantifier(element, code);
    case "Group": return emitAlternatives(element.alternatives, code);
    case "Behind": return emitLook(NOT_BEHIND, element.literals, code);
    case "BehindWord": return code.push(BEHIND_WORD);
    case "Assertion": return emitAssertion(element, code);
    default: throw new Error(`${element.type}: ${element.raw}`);
  }
}

function emitAssertion(element, code) {
  const { kind, negate } = element;
  if (kind === "start") return code.push(START);
  if (kind === "end") return code.push(END);
  if (kind === "word" && !negate) return code.push(BOUNDARY);
  if ((kind === "lookahead" || kind === "lookbehind") && negate) {
    return emitLook(kind === "lookahead" ? NOT_AHEAD : NOT_BEHIND, literals(element.alternatives), code);
  }
  throw new Error(`assertion ${element.raw}`);
}

function literals(alternatives) {
  return alternatives.flatMap(({ elements }) =>
    elements.length === 1 && elements[0].type === "Group" ? literals(elements[0].alternatives) : [elements.map(lower).join("")]);
}

function emitLook(operation, words, code) {
  code.push(operation, words.length);
  for (const word of words) code.push(word.length, ...Buffer.from(word));
}

// Which characters belong to a class is asked of the engine that isbot runs in.
function emitClass(raw, code) {
  const pattern = new RegExp(`^${raw}$`, "i");
  let mask = 0n;
  for (let code = 0; code < 128; code++) if (pattern.test(String.fromCharCode(code))) mask |= 1n << BigInt(code);
  if (!classes.includes(mask)) classes.push(mask);
  code.push(pattern.test("é") ? WIDE_CLASS : CLASS, classes.indexOf(mask));
}

function emitAlternatives(alternatives, code) {
  const jumps = [];
  alternatives.forEach(({ elements }, i) => {
    const last = i === alternatives.length - 1;
    const split = last ? null : code.push(SPLIT, 0, 0) - 3;
    if (!last) code[split + 1] = code.length;
    for (const element of elements) emit(element, code);
    if (last) return;
    jumps.push(code.push(JUMP, 0) - 1);
    code[split + 2] = code.length;
  });
  for (const jump of jumps) code[jump] = code.length;
}

function emitQuantifier({ min, max, greedy, element, raw }, code) {
  if (new RegExp(`^(?:${element.raw})$`, "i").test("")) throw new Error(`repeats what can be empty: ${raw}`);
  for (let i = 0; i < min; i++) emit(element, code);
  const splits = [];
  const loop = code.length;
  for (let i = min; i < (max === Infinity ? min + 1 : max); i++) {
    splits.push(code.push(SPLIT, 0, 0) - 3);
    emit(element, code);
  }
  if (max === Infinity) code.push(JUMP, loop);
  for (const split of splits) {
    const [body, end] = [split + 3, code.length];
    [code[split + 1], code[split + 2]] = greedy ? [body, end] : [end, body];
  }
}
