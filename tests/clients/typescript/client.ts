// The calls of the test, typed by what openapi-typescript makes of the description: `tsc` refuses what it does not allow.
import createClient from "openapi-fetch";
import type { components, paths } from "./generated/gateway.js";

type Tier = components["schemas"]["IssueRequest"]["tier"];

export type Problem = components["schemas"]["Problem"];

/** The gateway as its callers see it; without a key if none is given. */
export function gateway(baseUrl: string, key?: string) {
  const client = createClient<paths>({
    baseUrl,
    headers: key === undefined ? {} : { "X-API-Key": key },
    // The description says `form`; openapi-fetch sends an object as `query[code]=404` unless it is told.
    querySerializer: { object: { style: "form", explode: true } },
  });
  return {
    /** The README's own call. */
    qrCode: (url: string, size: number) =>
      client.POST("/v1/qr/{action}", {
        params: { path: { action: "generate" } },
        body: { url, size },
        parseAs: "blob",
      }),
    /** A call that the demo tool responds to with this status. */
    callForStatus: (code: number) =>
      client.GET("/v1/qr/{action}", {
        params: { path: { action: "status" }, query: { query: { code: String(code) } } },
        parseAs: "text",
      }),
    ownKey: () => client.GET("/v1/keys/me"),
  };
}

/** The gateway as its administrator sees it. */
export function administration(baseUrl: string, adminSecret: string) {
  const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${adminSecret}` } });
  return {
    issueKey: (email: string, tier: Tier) =>
      client.POST("/v1/keys/issue", { body: { email, name: "Ada", tier, admin_secret: adminSecret } }),
    listKeys: (limit: number, cursor?: string) => client.GET("/v1/keys", { params: { query: { limit, cursor } } }),
  };
}
