/** The rights of a secret as a person reads them. */
import type { Key, Scopes } from "./api";
import { count, words } from "./format";

export const PAGES_RIGHTS = [
  ["none", "Nothing"],
  ["read", "See pages and analytics"],
  ["write", "Change pages and webhooks"],
  ["admin", "Everything, export and erasure too"],
] as const;

export function rights({ tools = [], biolink = "none", keys = false }: Scopes): string[] {
  const called = tools.includes("all")
    ? "calls every tool"
    : tools.length
      ? `calls ${tools.map(words).join(", ")}`
      : "";
  const pages = { none: "", read: "sees pages", write: "changes pages", admin: "does everything with pages" }[
    biolink
  ];
  const all = [called, pages, keys ? "manages secrets" : ""].filter(Boolean);
  return all.length ? all.map((right, at) => (at ? right : words(right))) : ["May do nothing"];
}

/** Returns the limits that a key has, a sentence for each. */
export function limitsOf({ minute, day, units }: Key["limits"]): string[] {
  const known: [number | null, string][] = [
    [minute, "calls a minute"],
    [day, "calls a day"],
    [units.minute, "units a minute"],
    [units.day, "units a day"],
    [units.month, "units a month"],
  ];
  return known.flatMap(([limit, what]) => (limit === null ? [] : [`${count(limit)} ${what}`]));
}
