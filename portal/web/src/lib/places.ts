/** The views that the menus and the command palette lead to. */
import {
  Activity,
  Ban,
  Bell,
  ChartColumn,
  Flag,
  Globe,
  House,
  KeyRound,
  type IconNode,
  PanelsTopLeft,
  QrCode,
  Settings,
  ShoppingBag,
  Siren,
  Users,
  Webhook,
  Wrench,
  ListTree,
} from "lucide";

import type { Direct, Role } from "./session.svelte";

export interface Place {
  path: string;
  name: string;
  node: IconNode;
  /** What people call it too. */
  words: string;
}

export const MAIN: Place[] = [
  { path: "/", name: "Home", node: House, words: "start overview attention" },
  { path: "/pages", name: "Pages", node: PanelsTopLeft, words: "editor bio link" },
  { path: "/links", name: "Links and QR", node: QrCode, words: "short links codes flyer print download" },
  {
    path: "/analytics",
    name: "Analytics",
    node: ChartColumn,
    words: "views clicks statistics visitors campaigns",
  },
  { path: "/products", name: "Products", node: ShoppingBag, words: "shop feed shopify woocommerce" },
  { path: "/domains", name: "Domains", node: Globe, words: "dns host own address" },
];
export const DEVELOPERS: Place[] = [
  { path: "/developers/keys", name: "Keys", node: KeyRound, words: "secrets api rotate revoke scopes" },
  { path: "/developers/usage", name: "Usage", node: Activity, words: "quota limits calls today history" },
  { path: "/developers/calls", name: "Calls", node: ListTree, words: "log requests errors" },
  { path: "/developers/alerts", name: "Alerts", node: Bell, words: "warnings quota expires refused" },
  { path: "/developers/webhooks", name: "Webhooks", node: Webhook, words: "events deliveries" },
  { path: "/developers/tools", name: "Tools", node: Wrench, words: "status availability" },
];
export const SETTINGS: Place = {
  path: "/settings",
  name: "Settings",
  node: Settings,
  words: "account images export erase sessions browsers",
};
export const ADMIN: Place[] = [
  { path: "/admin/keys", name: "Keys", node: Users, words: "issue holders customers" },
  { path: "/admin/reports", name: "Reports", node: Flag, words: "abuse suspend moderation" },
  { path: "/admin/hosts", name: "Deny list", node: Ban, words: "hosts blocked phishing" },
  { path: "/admin/incidents", name: "Incidents", node: Siren, words: "status outage" },
  { path: "/developers/tools", name: "Tools", node: Wrench, words: "status availability" },
];

/** Whether a gateway without an edge has the view of an address. */
export function inDirectMode(path: string, { issues_keys }: Direct): boolean {
  if (path === "/developers/keys") return issues_keys;
  return ["/developers/usage", "/developers/tools", "/admin/keys", "/admin/keys/*"].includes(path);
}

/** The groups of the menu: what comes first, and what is for developers. */
export function placesOf(role: Role | null, direct: Direct | null): { main: Place[]; developers: Place[] } {
  if (direct) {
    const all = role === "admin" ? ADMIN : DEVELOPERS;
    return { main: all.filter(({ path }) => inDirectMode(path, direct)), developers: [] };
  }
  return role === "admin" ? { main: ADMIN, developers: [] } : { main: MAIN, developers: DEVELOPERS };
}
