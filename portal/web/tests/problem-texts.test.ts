import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { faultsByPath, faultText } from "../src/lib/field-texts";
import { PROBLEM_TEXTS } from "../src/lib/problem-texts";

/** Every code of the service: each has a page at /problems, of which scripts/build-web.sh notes the names. */
const codes = JSON.parse(
  readFileSync(new URL("../src/api/problem-codes.json", import.meta.url), "utf8"),
) as string[];

test("each code has a text in people’s words", () => {
  expect(Object.keys(PROBLEM_TEXTS).sort()).toEqual(codes.sort());
});

test("texts of problems have no words of the API", () => {
  const machine = /`|#\/|\bHTTP\b|\bJSON\b|_|\bpayload\b|\bendpoint\b/;
  const found = Object.entries(PROBLEM_TEXTS).filter(([, texts]) =>
    texts.some((text) => machine.test(text.replace(/utg_(live_|test_)?/g, ""))),
  );
  expect(found).toEqual([]);
});

test("fault of a field is told by its place", () => {
  const faults = [
    { pointer: "#/links/12/url", detail: "must be an address such as `https://example.com`" },
    { pointer: "#/title", detail: "is empty" },
    { pointer: "#/unknown/member", detail: "must be a string such as `x`" },
  ];
  expect(faultsByPath(faults)).toEqual({
    "links/12/url": "Enter a whole address, such as https://example.com.",
    title: "Give the page a title of at most 80 characters.",
    "unknown/member": "Must be a string such as “x”.",
  });
});

test("faint color is told with one that works", () => {
  const detail =
    "`accent` has a contrast of 3.69 to bg `#ecf8fb`, and needs 4.5 (WCAG AA); the nearest color that has enough is #e40000";
  expect(faultText({ pointer: "#/theme/light", detail })).toBe(
    "Accent: too faint to read (contrast 3.69 of 4.5). #e40000 works.",
  );
});
