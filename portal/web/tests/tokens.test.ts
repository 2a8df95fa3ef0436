import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { contrast } from "../src/lib/color";

const css = readFileSync(new URL("../src/tokens.css", import.meta.url), "utf8");
const [light = "", dark = ""] = css.split("@media screen and (prefers-color-scheme: dark)");
const colorsOf = (text: string) =>
  Object.fromEntries(
    [...text.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, value]) => [name, value]),
  );
const schemes = { light: colorsOf(light), dark: { ...colorsOf(light), ...colorsOf(dark) } };

/** What is read on what: 4.5 for text, 3 for edges and lines (WCAG 2.2, 1.4.3 and 1.4.11). */
const PAIRS: readonly (readonly [string, readonly string[], number])[] = [
  ["ink", ["paper", "surface", "sunken"], 4.5],
  ["ink-soft", ["paper", "surface", "sunken"], 4.5],
  ["on-action", ["action", "action-hover"], 4.5],
  ["brand", ["surface", "paper", "sunken", "brand-soft"], 4.5],
  ["on-brand-soft", ["brand-soft"], 4.5],
  ["good", ["good-soft", "surface", "paper", "sunken"], 4.5],
  ["warn", ["warn-soft", "surface", "paper"], 4.5],
  ["bad", ["bad-soft", "surface", "paper"], 4.5],
  ["ink", ["raised", "brand-soft", "good-soft", "warn-soft", "bad-soft"], 4.5],
  ["line-strong", ["surface", "paper"], 3],
  ["focus", ["surface", "paper", "sunken"], 3],
  ["chart-1", ["surface"], 3],
  ["chart-2", ["surface"], 3],
  ["chart-3", ["surface"], 3],
  ["chart-4", ["surface"], 3],
];

for (const [scheme, colors] of Object.entries(schemes)) {
  test(`colors of ${scheme} can be read`, () => {
    const faint = PAIRS.flatMap(([front, backs, least]) =>
      backs.flatMap((back) => {
        const found = contrast(colors[front] ?? "", colors[back] ?? "");
        return found !== null && found >= least
          ? []
          : [`${front} on ${back}: ${found?.toFixed(2)} of ${least}`];
      }),
    );
    expect(faint).toEqual([]);
  });
}

test("contrast is that of WCAG", () => {
  expect(contrast("#000000", "#ffffff")).toBeCloseTo(21, 5);
  expect(contrast("#777777", "#fff")).toBeCloseTo(4.48, 2);
  expect(contrast("red", "#fff")).toBeNull();
});
