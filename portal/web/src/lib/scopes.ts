/** The rights of a secret as a person reads them. */
import { gateway, type Key, type Scopes, take } from "./api";
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

/** Returns the name of each secret of the key by its id; none for who may not see them. */
export async function secretNames(): Promise<Map<string, string>> {
  try {
    const { secrets } = await take(gateway.GET("/v1/keys/me/secrets"));
    return new Map(secrets.map(({ id, name }) => [id, name]));
  } catch {
    return new Map();
  }
}
