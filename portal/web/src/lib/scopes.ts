/** The rights of a secret as a person reads them. */
import type { Scopes } from "./api";
import { words } from "./format";

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
