// As much of Rust's syntax as counting needs: doc comments, functions and `#[cfg(test)]` modules.

const TOKENS =
  /\/\/[^\n]*|\/\*|b?r(#*)"|b?"(?:\\[\s\S]|[^"\\])*"|b?'(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\\n])'/gu;

// Returns the text with comments and literals replaced by spaces. Line breaks and offsets stay.
export function maskText(text) {
  let masked = "";
  let at = 0;
  TOKENS.lastIndex = 0;
  for (let token; (token = TOKENS.exec(text)); ) {
    let end = TOKENS.lastIndex;
    if (token[0] === "/*") end = blockCommentEnd(text, end);
    else if (token[1] !== undefined) end = text.indexOf(`"${token[1]}`, end) + 1 + token[1].length;
    masked += text.slice(at, token.index) + text.slice(token.index, end).replace(/[^\n]/g, " ");
    at = TOKENS.lastIndex = end;
  }
  return masked + text.slice(at);
}

// Returns the lines that hold code, and those that hold an inline comment: `//` that is not a doc comment.
// A line can be both.
export function codeAndComments(text) {
  const code = new Set();
  const comments = new Set();
  const addCode = (from, to) => {
    const first = lineAt(text, from);
    text.slice(from, to).split("\n").forEach((part, index) => part.trim() && code.add(first + index));
  };
  let at = 0;
  TOKENS.lastIndex = 0;
  for (let token; (token = TOKENS.exec(text)); ) {
    let end = TOKENS.lastIndex;
    if (token[0] === "/*") end = blockCommentEnd(text, end);
    else if (token[1] !== undefined) end = text.indexOf(`"${token[1]}`, end) + 1 + token[1].length;
    TOKENS.lastIndex = end;
    if (!token[0].startsWith("/")) continue;
    addCode(at, token.index);
    if (/^\/\/(?![/!])/.test(token[0])) comments.add(lineAt(text, token.index));
    at = end;
  }
  addCode(at, text.length);
  return { code, comments };
}

function blockCommentEnd(text, from) {
  const edge = /\/\*|\*\//g;
  edge.lastIndex = from;
  for (let depth = 1, found; (found = edge.exec(text)); ) {
    depth += found[0] === "/*" ? 1 : -1;
    if (depth === 0) return edge.lastIndex;
  }
  return text.length;
}

const lineAt = (text, offset) => text.slice(0, offset).split("\n").length - 1;

// Returns the offset of the brace that closes the one at `open`.
function closingBrace(masked, open) {
  for (let at = open, depth = 0; at < masked.length; at += 1) {
    if (masked[at] === "{") depth += 1;
    if (masked[at] === "}" && (depth -= 1) === 0) return at;
  }
  return masked.length;
}

// Returns a predicate on line numbers: whether the line is in a `#[cfg(test)]` module.
export function testLines(masked) {
  const ranges = [];
  for (const found of masked.matchAll(/#\[cfg\((?:test|all\(test[^\n]*)\)\]\s*(?:#\[[^\n]*\]\s*)*(?:pub(?:\([^)]*\))? )?mod \w+ \{/g)) {
    const open = found.index + found[0].length - 1;
    ranges.push([lineAt(masked, found.index), lineAt(masked, closingBrace(masked, open))]);
  }
  return (line) => ranges.some(([first, last]) => first <= line && line <= last);
}

// Yields every run of `///` or `//!` lines as one text, without fenced code.
export function* docComments(text, masked) {
  const lines = text.split("\n");
  const hidden = masked.split("\n");
  for (let line = 0; line < lines.length; line += 1) {
    const start = line;
    const parts = [];
    const marker = docMarker(lines[line], hidden[line]);
    for (; marker && docMarker(lines[line], hidden[line]) === marker; line += 1) {
      parts.push(lines[line].trim().slice(marker.length).trim());
    }
    if (marker) {
      yield { line: start, text: parts.join("\n").replace(/```[\s\S]*?(```|$)/g, "").trim() };
      line -= 1;
    }
  }
}

// A line inside a multi-line string can look like a doc comment; its quotation marks are elsewhere, which is rare enough.
function docMarker(line, hidden) {
  if (line === undefined || hidden.trim() !== "") return undefined;
  return /^\s*(\/\/!|\/\/\/(?!\/))/.exec(line)?.[1];
}

// Yields the first line and the number of lines, signature included, of every function with a body.
export function* functionLengths(masked) {
  for (const found of masked.matchAll(/\bfn\s+\w+/g)) {
    const open = masked.slice(found.index).search(/[{;]/);
    // A semicolon within an array type (`[u8; 4]`) does not end a signature.
    const body = bodyStart(masked, found.index, open);
    if (body === undefined) continue;
    const line = lineAt(masked, found.index);
    yield { line, length: lineAt(masked, closingBrace(masked, body)) - line + 1 };
  }
}

function bodyStart(masked, from, first) {
  for (let at = from + first, depth = 0, seen = from; at < masked.length; at += 1) {
    for (; seen <= at; seen += 1) {
      if ("([".includes(masked[seen])) depth += 1;
      if (")]".includes(masked[seen])) depth -= 1;
    }
    if (depth === 0 && masked[at] === ";") return undefined;
    if (depth === 0 && masked[at] === "{") return at;
  }
  return undefined;
}
