/** Numbers, times and names as a person reads them. */

const number = new Intl.NumberFormat();
const compact = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const countries = new Intl.DisplayNames(undefined, { type: "region" });
const languages = new Intl.DisplayNames(undefined, { type: "language" });
const STEPS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
];

export const count = (value: number | null | undefined): string =>
  value == null ? "–" : number.format(value);
export const short = (value: number): string =>
  value < 10_000 ? number.format(value) : compact.format(value);
export const percent = (share: number | null | undefined, digits = 1): string =>
  share == null
    ? "–"
    : new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: digits }).format(share);

/** Returns an amount with the sign of its currency, or as it was typed if it is none. */
export function money({ amount, currency }: { amount: string; currency: string }): string {
  const value = Number(amount);
  try {
    if (amount.trim() && Number.isFinite(value))
      return new Intl.NumberFormat(undefined, { style: "currency", currency }).format(value);
  } catch {
    // The currency is none, or is still being typed.
  }
  return `${amount} ${currency}`;
}

export function bytes(value: number | null | undefined): string {
  if (value == null) return "–";
  if (value < 1_000) return `${value} B`;
  return value < 1_000_000
    ? `${number.format(Math.round(value / 1_000))} KB`
    : `${number.format(Math.round(value / 100_000) / 10)} MB`;
}

export function ago(time: string | number, now = Date.now()): string {
  const distance = new Date(time).getTime() - now;
  // Clocks differ by a bit.
  if (Math.abs(distance) < 10_000) return distance > 2_000 ? "in a moment" : "just now";
  const [unit, size] = STEPS.find(([, size]) => Math.abs(distance) >= size) ?? ["second", 1_000];
  return relative.format(Math.round(distance / size), unit);
}

export const local = (time: string | number): string =>
  new Date(time).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
export const utc = (time: string): string => `${time.slice(0, 19).replace("T", " ")} UTC`;
export const day = (time: string | number, timeZone?: string): string =>
  new Date(time).toLocaleDateString(undefined, { day: "numeric", month: "short", timeZone });

export function country(code: string): string {
  try {
    return countries.of(code) ?? code;
  } catch {
    return code;
  }
}

export function language(code: string): string {
  try {
    return languages.of(code) ?? code;
  } catch {
    return code;
  }
}

/** Returns an address without what a person does not need. */
export const bare = (url: string): string => url.replace(/^https?:\/\/(www\.)?/, "").replace(/\/$/, "");

const SHORT = new Set(["qr", "pdf", "seo", "yt"]);

/** Returns a text with a capital letter, and spaces for `-` and `_`. */
export function words(name: string): string {
  if (SHORT.has(name)) return name.toUpperCase();
  const text = name.replace(/[-_]/g, " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

/** Returns a local time for an input, and the moment of one. */
export function toInput(time: string | null | undefined): string {
  if (!time) return "";
  const date = new Date(time);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
export const fromInput = (value: string): string | null => (value ? new Date(value).toISOString() : null);
