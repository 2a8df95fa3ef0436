/** What needs a person's attention, of everything that is read for Home. */
import type { Account, Alert, Domain, OwnKey, PageSummary, Source, Webhook } from "./api";
import { bare, local } from "./format";
import { faultOf } from "./shop";

export interface Concern {
  title: string;
  text: string;
  /** Where it can be seen to. */
  path: string;
  isBad: boolean;
}

export interface State {
  key: OwnKey;
  account: Account | null;
  alerts: readonly Alert[];
  webhooks: readonly Webhook[];
  domains: readonly Domain[];
  pages: readonly PageSummary[];
  sources: readonly (Source & { page: string })[];
}

const WEEK_MS = 7 * 86_400_000;

export function concerns(state: State, now: number): Concern[] {
  return [
    ...ofKey(state, now),
    ...ofWebhooks(state.webhooks),
    ...ofSources(state.sources),
    ...ofDomains(state.domains),
    ...ofPages(state.pages),
  ];
}

function ofKey({ key, account }: State, now: number): Concern[] {
  const found: Concern[] = [];
  const day = key.usage?.day;
  const share = day?.limit ? day.used / day.limit : 0;
  if (day && share >= 0.8) {
    const text = `${day.used} of ${day.limit} calls. It begins anew at midnight UTC.`;
    found.push({
      title: share >= 1 ? "Today’s calls are used up" : "Today’s calls are nearly used up",
      text,
      path: "/developers/usage",
      isBad: share >= 1,
    });
  }
  if (key.expires_at && Date.parse(key.expires_at) - now < WEEK_MS) {
    found.push({
      title: "Your key expires soon",
      text: `On ${local(key.expires_at)}. Ask the operator for more time.`,
      path: "/developers/keys",
      isBad: true,
    });
  }
  if (account?.suspended)
    found.push({
      title: "Your account is suspended",
      text: "Visitors see none of your pages. Ask the operator why.",
      path: "/settings",
      isBad: true,
    });
  if (account && account.pages.used >= account.pages.limit) {
    found.push({
      title: "You have all the pages of your plan",
      text: `${account.pages.used} of ${account.pages.limit}.`,
      path: "/pages",
      isBad: false,
    });
  }
  return found;
}

function ofWebhooks(webhooks: readonly Webhook[]): Concern[] {
  return webhooks.flatMap(({ id, url, status, disabled_reason, health }) => {
    const path = `/developers/webhooks/${id}`;
    const name = url ? bare(url) : "The event log";
    if (status === "disabled" && disabled_reason)
      return [
        { title: "A webhook was switched off", text: `${name} did not take events.`, path, isBad: true },
      ];
    if (health.consecutive_failures < 3 || status === "disabled") return [];
    return [
      {
        title: "A webhook fails",
        text: `${name} refused the last ${health.consecutive_failures} deliveries.`,
        path,
        isBad: true,
      },
    ];
  });
}

function ofSources(sources: State["sources"]): Concern[] {
  return sources.flatMap(({ url, sync, page_id }) => {
    const path = `/products?page=${page_id}`;
    if (sync?.held)
      return [
        {
          title: "A shop’s feed lost most products",
          text: `${bare(url)}: nothing was removed yet. Have a look.`,
          path,
          isBad: true,
        },
      ];
    if (sync?.status !== "failing" && sync?.status !== "stale") return [];
    return [
      {
        title: "A shop’s feed cannot be read",
        text: `${bare(url)}: ${sync.error ? faultOf(sync.error).text : "It did not respond."}`,
        path,
        isBad: true,
      },
    ];
  });
}

function ofDomains(domains: readonly Domain[]): Concern[] {
  const lost = domains.filter(({ missing_since }) => missing_since !== null);
  const waiting = domains.filter(({ status }) => status === "pending");
  return [
    ...lost.map(({ host }) => ({
      title: "A domain lost its record",
      text: `${host} works for a day more.`,
      path: "/domains",
      isBad: true,
    })),
    ...waiting.map(({ host }) => ({
      title: "A domain waits for its records",
      text: host,
      path: "/domains",
      isBad: false,
    })),
  ];
}

function ofPages(pages: readonly PageSummary[]): Concern[] {
  const suspended = pages.filter((page) => page.suspended);
  const waiting = pages.filter(
    (page) => page.status === "published" && page.has_unpublished_changes && !page.suspended,
  );
  return [
    ...suspended.map(({ id, title }) => ({
      title: `“${title}” is suspended`,
      text: "Visitors do not see it.",
      path: `/pages/${id}`,
      isBad: true,
    })),
    ...waiting.slice(0, 3).map(({ id, title }) => ({
      title: `“${title}” has changes that nobody sees yet`,
      text: "Publish them when they are ready.",
      path: `/pages/${id}`,
      isBad: false,
    })),
  ];
}
