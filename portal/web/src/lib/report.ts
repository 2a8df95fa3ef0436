/** What Analytics asks for, and its rows as a person reads them. */
import type { Analytics } from "./api";
import { bare, country, count, language, percent, words } from "./format";
import type { Row } from "../parts/Bars.svelte";

export const INTERVALS = [
  ["today", "Today"],
  ["yesterday", "Yesterday"],
  ["24h", "24 hours"],
  ["7d", "7 days"],
  ["30d", "30 days"],
  ["90d", "90 days"],
  ["mtd", "This month"],
] as const;
export type Interval = (typeof INTERVALS)[number][0];
export const METRICS = [
  ["views", "Views"],
  ["visitors", "Visitors"],
  ["clicks", "Clicks"],
  ["scans", "QR scans"],
] as const;
export type Metric = (typeof METRICS)[number][0];
export type Group = Exclude<keyof Analytics["groups"], "timeseries" | "bot_class">;

/** The cards, each with the groups that its tabs show. */
export const CARDS: readonly { name: string; groups: readonly (readonly [Group, string])[] }[] = [
  {
    name: "What they clicked",
    groups: [
      ["link", "Links"],
      ["product", "Products"],
      ["variant", "Destinations"],
      ["page", "Pages"],
    ],
  },
  {
    name: "Where they came from",
    groups: [
      ["channel", "Channels"],
      ["source", "Sources"],
      ["referrer", "Sites"],
    ],
  },
  {
    name: "Campaigns",
    groups: [
      ["utm_campaign", "Campaigns"],
      ["utm_source", "Sources"],
      ["utm_medium", "Media"],
      ["via", "Links and QR"],
    ],
  },
  {
    name: "Who they are",
    groups: [
      ["country", "Countries"],
      ["language", "Languages"],
      ["device", "Devices"],
      ["browser", "Browsers"],
      ["os", "Systems"],
    ],
  },
];
/** What a report can be filtered by. */
export const FILTERS = [
  "link",
  "product",
  "referrer",
  "source",
  "channel",
  "country",
  "device",
  "browser",
  "os",
  "language",
  "utm_source",
  "utm_medium",
  "utm_campaign",
  "via",
] as const;
export type Filter = (typeof FILTERS)[number];
export const FILTER_NAMES: Record<Filter, string> = {
  link: "Link",
  product: "Product",
  referrer: "Site",
  source: "Source",
  channel: "Channel",
  country: "Country",
  device: "Device",
  browser: "Browser",
  os: "System",
  language: "Language",
  utm_source: "Campaign source",
  utm_medium: "Medium",
  utm_campaign: "Campaign",
  via: "Short link or QR code",
};
const NONE: Partial<Record<Group, string>> = {
  channel: "No channel",
  source: "Direct",
  referrer: "Direct",
  utm_campaign: "No campaign",
  utm_source: "No source",
  utm_medium: "No medium",
  via: "The page itself",
};

/** Returns what a person calls a value of a group. */
export function valueName(group: Group, value: string | null): string {
  if (value === null) return NONE[group] ?? "Not known";
  if (group === "country") return country(value);
  if (group === "language") return language(value);
  return group === "channel" || group === "device" ? (value === "qr" ? "QR codes" : words(value)) : value;
}

type AnyRow = Partial<Record<string, string | number | boolean | null>>;

/** Returns the rows of a group by a metric; by clicks, or what the group has, if it has not that one. */
export function rowsOf(report: Analytics, group: Group, metric: Metric): Row[] {
  const rows = (report.groups[group] ?? []) as AnyRow[];
  const by =
    [metric, "clicks", "views", "scans"].find((name) => rows.some((row) => typeof row[name] === "number")) ??
    "views";
  const made = rows.map((row, at) => {
    const isRest = row.other === true;
    const ctr = typeof row.ctr === "number" && by !== "views" ? `${percent(row.ctr)} CTR` : "";
    const clicks =
      by === "views" && typeof row.clicks === "number" && row.clicks ? `${count(row.clicks)} clicks` : "";
    return {
      key: isRest ? "…other" : keyOf(row, group, at),
      name: isRest ? "All others" : nameOf(row, group),
      value: Number(row[by] ?? 0),
      more: ctr || clicks,
      isRest,
    };
  });
  return made
    .filter(({ value }) => value > 0)
    .sort((one, other) => Number(one.isRest) - Number(other.isRest) || other.value - one.value);
}

function keyOf(row: AnyRow, group: Group, at: number): string {
  const value = group === "link" || group === "product" || group === "page" ? row.id : row[group];
  return typeof value === "string" ? value : `…none${at}`;
}

function nameOf(row: AnyRow, group: Group): string {
  if (group === "page") return String(row.title ?? "A deleted page");
  if (group !== "link" && group !== "product") return valueName(group, (row[group] ?? null) as string | null);
  if (row.deleted === true && !row.title) return "A removed entry";
  return String(row.title || (typeof row.url === "string" ? bare(row.url) : row.id));
}

/** Returns the views or clicks of each hour of the week, Monday first. */
export function hoursOfWeek(
  series: readonly { start: string; views?: number | null; clicks?: number | null }[],
  metric: "views" | "clicks",
  timeZone: string,
): number[][] {
  const week = Array.from({ length: 7 }, () => Array<number>(24).fill(0));
  const format = new Intl.DateTimeFormat("en-GB", {
    weekday: "short",
    hour: "2-digit",
    hourCycle: "h23",
    timeZone,
  });
  for (const row of series) {
    const parts = Object.fromEntries(
      format.formatToParts(new Date(row.start)).map(({ type, value }) => [type, value]),
    );
    const hours = week[["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].indexOf(parts.weekday ?? "")];
    const hour = Number(parts.hour);
    if (hours) hours[hour] = (hours[hour] ?? 0) + (row[metric] ?? 0);
  }
  return week;
}
