/** What the gateway noticed of a key: what happened, and what to do. */
import type { Alert } from "./api";
import { bare, count, local } from "./format";

export interface Told {
  title: string;
  text: string;
  /** Where it can be seen to. */
  path: string;
  isBad: boolean;
}

const QUOTAS: Record<string, string> = {
  minute: "the calls of a minute",
  day: "the day’s calls",
  "units-minute": "the units of a minute",
  "units-day": "the day’s units",
  "units-month": "the month’s units",
};

export function told({ type, data }: Alert): Told {
  const { quota, secret, expires_at, webhook } = data;
  const of = QUOTAS[quota?.name ?? ""] ?? "a quota";
  if (type === "quota_threshold" && quota) {
    const used = quota.percent ?? 0;
    const until = quota.resets_at ? local(quota.resets_at) : "soon";
    return {
      title: `${used} % of ${of} were used`,
      text: `${count(quota.used)} of ${count(quota.limit)}. ${used >= 100 ? `Calls beyond it are refused until ${until}. Ask the operator for more.` : `The count begins anew ${until}.`}`,
      path: "/developers/usage",
      isBad: used >= 100,
    };
  }
  if (type === "quota_exceeded")
    return {
      title: `A call was refused: ${of} were used up`,
      text: "Further ones of that hour are not listed. Send calls more slowly, and repeat one after the time that its response names.",
      path: "/developers/calls?range=7d&status=429",
      isBad: true,
    };
  if (type === "key_expiring") {
    const ends = expires_at ? local(expires_at) : "soon";
    return secret
      ? {
          title: `The secret “${secret.name}” ends ${ends}`,
          text: "Change its end, or make another one.",
          path: "/developers/keys",
          isBad: false,
        }
      : {
          title: `Your key ends ${ends}`,
          text: "Ask the operator for a later end, or for another key.",
          path: "/developers/keys",
          isBad: true,
        };
  }
  if (type === "webhook_failing" && webhook)
    return {
      title: webhook.disabled_reason
        ? webhook.disabled_reason === "gone"
          ? "A webhook was switched off: its server said that it is gone"
          : "A webhook was switched off: it failed for days"
        : `A webhook failed ${count(webhook.consecutive_failures)} times in a row`,
      text: `${bare(webhook.url)}: repair its server. Its deliveries say what it responded, and can be sent again.`,
      path: `/developers/webhooks/${webhook.id}`,
      isBad: true,
    };
  return { title: type.replaceAll("_", " "), text: "", path: "/", isBad: false };
}
