// openapi-typescript makes types, with which openapi-fetch makes calls.
import createClient from "openapi-fetch";
import type { paths as BiolinkPaths } from "../generated/openapi-typescript/biolink.js";
import type { paths as GatewayPaths } from "../generated/openapi-typescript/gateway.js";
import { refused, type Generated } from "./client.js";

export const openapiTypescript: Generated = {
  client(baseUrl, key) {
    const client = createClient<GatewayPaths>({
      baseUrl,
      headers: { "X-API-Key": key },
      // The description says `form`; openapi-fetch sends an object as `query[code]=404` unless it is told.
      querySerializer: { object: { style: "form", explode: true } },
    });
    return {
      async qrCode(url) {
        const { data, error } = await client.POST("/v1/qr/{action}", {
          params: { path: { action: "generate" } },
          body: { url, format: "png" },
          parseAs: "blob",
        });
        if (data === undefined) throw new Error(String(error));
        // The type of a response says `string` for bytes.
        return { value: data as Blob };
      },
      async ownKey() {
        const { data, error } = await client.GET("/v1/keys/me");
        return data ? { value: { id: data.id, limit: data.usage?.minute.limit ?? null } } : refused(error);
      },
      async callForStatus(code) {
        const { response } = await client.GET("/v1/qr/{action}", {
          params: { path: { action: "status" }, query: { query: { code: String(code) } } },
          parseAs: "text",
        });
        return [response.status, response.headers.get("x-gateway-problem")];
      },
    };
  },
  administration(baseUrl, adminSecret) {
    const client = createClient<GatewayPaths>({ baseUrl, headers: { Authorization: `Bearer ${adminSecret}` } });
    return {
      async issueKey(email) {
        const body = { email, name: "Ada", tier: "free", biolink_plan: "business", admin_secret: adminSecret } as const;
        const { data, error } = await client.POST("/v1/keys/issue", { body });
        return data ? { value: data } : refused(error);
      },
      async listKeys(limit, cursor) {
        const { data, error } = await client.GET("/v1/keys", { params: { query: { limit, cursor } } });
        return data ? { value: { ids: data.keys.map((key) => key.id), next: data.cursor } } : refused(error);
      },
    };
  },
  pages(baseUrl, key) {
    const client = createClient<BiolinkPaths>({ baseUrl, headers: { "X-API-Key": key } });
    return {
      async createPage(title) {
        const { data, error } = await client.POST("/pages", { body: { title } });
        return data ? { value: { id: data.id, qr: data.urls.qr } } : refused(error);
      },
      async listPages(limit, cursor) {
        const { data, error } = await client.GET("/pages", { params: { query: { limit, cursor } } });
        return data ? { value: { ids: data.data.map((page) => page.id), next: data.next_cursor } } : refused(error);
      },
      async readAnalytics(page_id, metrics, group_by) {
        const { data, error } = await client.GET("/analytics", { params: { query: { page_id, metrics, group_by } } });
        if (!data) return refused(error!);
        if (typeof data === "string") throw new Error("the report is a table");
        return { value: { totals: Object.keys(data.totals), groups: Object.keys(data.groups) } };
      },
      async createWebhook(url, isTried) {
        const body = { url, events: ["click" as const] };
        const { data, error } = await client.POST("/webhooks", { body, params: { query: { dry_run: isTried } } });
        return data ? { value: { secret: data.secret } } : refused(error);
      },
      async exportAccount() {
        const { data, error } = await client.GET("/account/export", { parseAs: "blob" });
        return data ? { value: data as Blob } : refused(error!);
      },
    };
  },
};
