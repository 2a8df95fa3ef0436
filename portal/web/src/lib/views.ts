/** The view of each address. Each is a file of its own, which is loaded when it is shown. */
import type { Component } from "svelte";
import { inDirectMode } from "./places";
import type { Direct, Role } from "./session.svelte";

type Loaded = Promise<{ default: Component<{ ids: string[] }> }>;
interface View {
  load: () => Loaded;
  ids: string[];
  isWide: boolean;
}
type Entry = readonly [path: string, load: () => Promise<unknown>, isWide?: boolean];

const TOOLS: Entry = ["/developers/tools", () => import("../views/Tools.svelte")];
const USAGE = () => import("../views/Usage.svelte");
const OF_KEY: readonly Entry[] = [
  ["/", () => import("../views/Home.svelte")],
  ["/pages", () => import("../views/Pages.svelte")],
  ["/pages/*", () => import("../views/Editor.svelte"), true],
  ["/links", () => import("../views/Links.svelte")],
  ["/links/*", () => import("../views/Links.svelte")],
  ["/analytics", () => import("../views/Analytics.svelte"), true],
  ["/products", () => import("../views/Products.svelte")],
  ["/domains", () => import("../views/Domains.svelte")],
  ["/developers/keys", () => import("../views/Secrets.svelte")],
  ["/developers/usage", USAGE],
  ["/developers/calls", () => import("../views/Calls.svelte"), true],
  ["/developers/alerts", () => import("../views/Alerts.svelte")],
  ["/developers/webhooks", () => import("../views/Webhooks.svelte")],
  ["/developers/webhooks/*", () => import("../views/Webhook.svelte")],
  TOOLS,
  ["/settings", () => import("../views/Settings.svelte")],
];
const OF_ADMIN: readonly Entry[] = [
  ["/", () => import("../views/AdminKeys.svelte")],
  ["/admin/keys", () => import("../views/AdminKeys.svelte")],
  ["/admin/keys/*", () => import("../views/AdminKey.svelte")],
  ["/admin/reports", () => import("../views/AdminReports.svelte")],
  ["/admin/pages/*", () => import("../views/AdminPage.svelte")],
  ["/admin/accounts/*", () => import("../views/AdminAccount.svelte")],
  ["/admin/hosts", () => import("../views/AdminHosts.svelte")],
  ["/admin/incidents", () => import("../views/AdminIncidents.svelte")],
  TOOLS,
];

export function viewOf(path: string, role: Role, direct: Direct | null): View | null {
  // Home is about pages.
  const home: Entry[] = direct && role === "key" ? [["/", USAGE]] : [];
  for (const [pattern, load, isWide = false] of [...home, ...(role === "key" ? OF_KEY : OF_ADMIN)]) {
    if (direct && pattern !== "/" && !inDirectMode(pattern, direct)) continue;
    const match = new RegExp(`^${pattern.replaceAll("*", "([\\w.-]+)")}$`).exec(path);
    if (match) return { load: load as () => Loaded, ids: match.slice(1), isWide };
  }
  return null;
}
