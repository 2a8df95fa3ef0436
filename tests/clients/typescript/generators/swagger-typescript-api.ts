// swagger-typescript-api makes a class that calls with fetch, and throws what is refused.
import * as biolink from "../generated/swagger-typescript-api/biolink.js";
import * as gateway from "../generated/swagger-typescript-api/gateway.js";
import { refused, type Generated, type Result } from "./client.js";

type Response<D> = gateway.HttpResponse<D, unknown> | biolink.HttpResponse<D, unknown>;
type Refusal = gateway.HttpResponse<null, gateway.Problem> | biolink.HttpResponse<null, biolink.Problem>;

/** Returns the value of a response, or the problem of a refusal. */
async function outcome<D, T>(call: Promise<Response<D>>, read: (response: Response<D>) => T): Promise<Result<Awaited<T>>> {
  try {
    return { value: await read(await call) };
  } catch (error) {
    if (!(error instanceof globalThis.Response)) throw error;
    return refused((error as Refusal).error);
  }
}

const withKey = (key: string) => ({
  securityWorker: () => ({ headers: { "X-API-Key": key } }),
  baseApiParams: { secure: true },
});

export const swaggerTypescriptApi: Generated = {
  client(baseUrl, key) {
    const { v1 } = new gateway.Api({ baseUrl, ...withKey(key) });
    return {
      // The body of a response of any type is left to its reader.
      qrCode: (url) => outcome(v1.qrPost("generate", { url, format: "png" }), (response) => response.blob()),
      ownKey: () => outcome(v1.readOwnKey(), ({ data }) => ({ id: data.id, limit: data.usage?.minute.limit ?? null })),
    };
  },
  administration(baseUrl, adminSecret) {
    const { v1 } = new gateway.Api({ baseUrl, baseApiParams: { headers: { Authorization: `Bearer ${adminSecret}` } } });
    return {
      issueKey(email) {
        const body = { email, name: "Ada", tier: "free", biolink_plan: "business", admin_secret: adminSecret } as const;
        return outcome(v1.issueKey(body), ({ data }) => data);
      },
      listKeys: (limit, cursor) =>
        outcome(v1.listKeys({ limit, cursor }), ({ data }) => ({ ids: data.keys.map((key) => key.id), next: data.cursor })),
    };
  },
  pages(baseUrl, key) {
    const { account, analytics, pages, webhooks } = new biolink.Api({ baseUrl, ...withKey(key) });
    return {
      createPage: (title) => outcome(pages.createPage({ title }), ({ data }) => ({ id: data.id, qr: data.urls.qr })),
      listPages: (limit, cursor) =>
        outcome(pages.listPages({ limit, cursor }), ({ data }) => ({ ids: data.data.map((page) => page.id), next: data.next_cursor })),
      readAnalytics: (page_id, metrics, group_by) =>
        outcome(analytics.readAnalytics({ page_id, metrics, group_by }), ({ data }) => ({
          totals: Object.keys(data.totals),
          groups: Object.keys(data.groups),
        })),
      createWebhook: (url, isTried) =>
        outcome(webhooks.createWebhook({ url, events: ["click"] }, { dry_run: isTried }), ({ data }) => ({ secret: data.secret })),
      exportAccount: () => outcome(account.exportAccount(), (response) => response.blob()),
    };
  },
};
