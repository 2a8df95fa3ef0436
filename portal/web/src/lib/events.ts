/** Kinds of events as a person reads them. */
import type { Delivery, Webhook } from "./api";

export type EventType = Webhook["events"][number];
export const EVENTS: readonly (readonly [EventType, string, string])[] = [
  ["page_view", "Page viewed", "Each view of a page"],
  ["click", "Link clicked", "Each click on a link or product"],
  ["qr_scan", "QR code scanned", "Each scan"],
  ["page_published", "Page published", "With what changed"],
  ["quota_threshold", "Quota half, nearly or all used", "At 50, 80 and 100 percent"],
  ["quota_exceeded", "Quota exceeded", "The first refused call"],
  ["key_expiring", "Key expires soon", "A week and a day before"],
  ["webhook_failing", "Another webhook fails", "Or was switched off"],
];
export const eventName = (type: string): string =>
  EVENTS.find(([own]) => own === type)?.[1] ?? { batch: "Several events", test: "Test" }[type] ?? type;

const ERRORS = {
  redirect: ": it redirected",
  status: "",
  timeout: ": it did not respond in time",
  connection: ": no connection",
  address_refused: ": its address is not public",
} as const;

/** Says what came of an attempt. */
export function attemptText({ status, error }: Delivery["attempts"][number]): string {
  if (error === null) return `Delivered with ${status ?? 200}`;
  return status === null ? `Failed${ERRORS[error]}` : `Failed with ${status}${ERRORS[error]}`;
}
