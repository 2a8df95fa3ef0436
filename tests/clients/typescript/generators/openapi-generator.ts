// openapi-generator (typescript-fetch) makes classes that call with fetch, and throws what is refused.
import * as biolink from "../generated/openapi-generator/biolink/index.js";
import * as gateway from "../generated/openapi-generator/gateway/index.js";
import { refused, type Generated, type Result } from "./client.js";

/** Returns the value of a response, or the problem of a refusal. */
async function outcome<D, T>(call: Promise<D>, read: (data: D) => T): Promise<Result<T>> {
  try {
    return { value: read(await call) };
  } catch (error) {
    if (error instanceof gateway.ResponseError) return refused(gateway.ProblemFromJSON(await error.response.json()));
    if (error instanceof biolink.ResponseError) return refused(biolink.ProblemFromJSON(await error.response.json()));
    throw error;
  }
}

export const openapiGenerator: Generated = {
  client(basePath, apiKey) {
    const configuration = new gateway.Configuration({ basePath, apiKey });
    const [qr, keys] = [new gateway.QrApi(configuration), new gateway.KeysApi(configuration)];
    return {
      qrCode: (url) => outcome(qr.qrPost({ action: "generate", requestBody: { url, format: "png" } }), (image) => image),
      ownKey: () => outcome(keys.readOwnKey(), ({ id, usage }) => ({ id, limit: usage?.minute.limit ?? null })),
    };
  },
  administration(basePath, adminSecret) {
    const keys = new gateway.AdministrationApi(new gateway.Configuration({ basePath, accessToken: adminSecret }));
    return {
      issueKey(email) {
        const issueRequest = { email, name: "Ada", tier: "free", biolinkPlan: "business", adminSecret } as const;
        return outcome(keys.issueKey({ issueRequest }), (issued) => issued);
      },
      listKeys: (limit, cursor) =>
        outcome(keys.listKeys({ limit, cursor }), ({ keys, cursor: next }) => ({ ids: keys.map((key) => key.id), next })),
    };
  },
  pages(basePath, apiKey) {
    const configuration = new biolink.Configuration({ basePath, apiKey });
    const pages = new biolink.PagesApi(configuration);
    return {
      createPage: (title) => outcome(pages.createPage({ pageInput: { title } }), ({ id, urls }) => ({ id, qr: urls.qr })),
      listPages: (limit, cursor) =>
        outcome(pages.listPages({ limit, cursor }), ({ data, nextCursor: next }) => ({ ids: data.map((page) => page.id), next })),
      readAnalytics: (pageId, metrics, groupBy) =>
        outcome(new biolink.AnalyticsApi(configuration).readAnalytics({ pageId, metrics, groupBy }), ({ totals, groups }) => ({
          totals: named(totals),
          groups: named(groups),
        })),
      createWebhook: (url, dryRun) =>
        outcome(new biolink.WebhooksApi(configuration).createWebhook({ webhookInput: { url, events: ["click"] }, dryRun }), ({ secret }) => ({ secret })),
      exportAccount: () => outcome(new biolink.AccountApi(configuration).exportAccount(), (lines) => lines),
    };
  },
};

/** Returns the names of the members that are there: this client has those that are not, as undefined. */
const named = (members: object) => Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [name]));
