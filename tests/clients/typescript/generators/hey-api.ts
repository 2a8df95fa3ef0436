// @hey-api/openapi-ts makes functions that call with fetch.
import { createClient as createBiolinkClient } from "../generated/hey-api/biolink/client/index.js";
import * as biolink from "../generated/hey-api/biolink/sdk.gen.js";
import { createClient } from "../generated/hey-api/gateway/client/index.js";
import * as gateway from "../generated/hey-api/gateway/sdk.gen.js";
import { refused, type Generated } from "./client.js";

export const heyApi: Generated = {
  client(baseUrl, key) {
    const client = createClient({ baseUrl, auth: key });
    return {
      async qrCode(url) {
        const { data, error } = await gateway.qrPost({ client, path: { action: "generate" }, body: { url, format: "png" } });
        if (data === undefined) throw new Error(String(error));
        return { value: data };
      },
      async ownKey() {
        const { data, error } = await gateway.readOwnKey({ client });
        return data ? { value: { id: data.id, limit: data.usage?.minute.limit ?? null } } : refused(error);
      },
      async callForStatus(code) {
        const { response } = await gateway.qrGet({ client, path: { action: "status" }, query: { query: { code: String(code) } } });
        return [response.status, response.headers.get("x-gateway-problem")];
      },
    };
  },
  administration(baseUrl, adminSecret) {
    const client = createClient({ baseUrl, auth: adminSecret });
    return {
      async issueKey(email) {
        const body = { email, name: "Ada", tier: "free", biolink_plan: "business", admin_secret: adminSecret } as const;
        const { data, error } = await gateway.issueKey({ client, body });
        return data ? { value: data } : refused(error);
      },
      async listKeys(limit, cursor) {
        const { data, error } = await gateway.listKeys({ client, query: { limit, cursor } });
        return data ? { value: { ids: data.keys.map((key) => key.id), next: data.cursor } } : refused(error);
      },
    };
  },
  pages(baseUrl, key) {
    const client = createBiolinkClient({ baseUrl, auth: key });
    return {
      async createPage(title) {
        const { data, error } = await biolink.createPage({ client, body: { title } });
        return data ? { value: { id: data.id, qr: data.urls.qr } } : refused(error);
      },
      async listPages(limit, cursor) {
        const { data, error } = await biolink.listPages({ client, query: { limit, cursor } });
        return data ? { value: { ids: data.data.map((page) => page.id), next: data.next_cursor } } : refused(error);
      },
      async readAnalytics(page_id, metrics, group_by) {
        const { data, error } = await biolink.readAnalytics({ client, query: { page_id, metrics, group_by } });
        if (!data) return refused(error);
        return { value: { totals: Object.keys(data.totals), groups: Object.keys(data.groups) } };
      },
      async createWebhook(url, isTried) {
        const { data, error } = await biolink.createWebhook({ client, body: { url, events: ["click"] }, query: { dry_run: isTried } });
        return data ? { value: { secret: data.secret } } : refused(error);
      },
      async exportAccount() {
        const { data, error } = await biolink.exportAccount({ client, parseAs: "blob" });
        return data ? { value: data } : refused(error);
      },
    };
  },
};
