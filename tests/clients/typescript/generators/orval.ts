// orval makes functions that call with axios, which is its default. axios sends a list as `name[]=a&name[]=b`, and reads bytes
// in Node only with fetch.
import axios, { type AxiosResponse } from "axios";
import * as biolink from "../generated/orval/biolink.js";
import * as gateway from "../generated/orval/gateway.js";
import { refused, type Generated, type Result } from "./client.js";

/** Returns the value of a response, or the problem of a refusal. */
async function outcome<D, T>(call: Promise<AxiosResponse<D>>, read: (data: D) => T): Promise<Result<T>> {
  try {
    return { value: read((await call).data) };
  } catch (error) {
    if (!axios.isAxiosError<gateway.Problem | biolink.Problem>(error) || !error.response) throw error;
    return refused(error.response.data);
  }
}

export const orval: Generated = {
  client(baseURL, key) {
    const options = { adapter: "fetch", baseURL, headers: { "X-API-Key": key } };
    return {
      qrCode: (url) => outcome(gateway.qrPost("generate", { url, format: "png" }, undefined, options), (image) => image),
      ownKey: () => outcome(gateway.readOwnKey(options), ({ id, usage }) => ({ id, limit: usage?.minute.limit ?? null })),
    };
  },
  administration(baseURL, adminSecret) {
    const options = { baseURL, headers: { Authorization: `Bearer ${adminSecret}` } };
    return {
      issueKey(email) {
        const body = { email, name: "Ada", tier: "free", biolink_plan: "business", admin_secret: adminSecret } as const;
        return outcome(gateway.issueKey(body, options), (issued) => issued);
      },
      listKeys: (limit, cursor) =>
        outcome(gateway.listKeys({ limit, cursor }, options), ({ keys, cursor: next }) => ({ ids: keys.map((key) => key.id), next })),
    };
  },
  pages(baseURL, key) {
    const options = { adapter: "fetch", baseURL, headers: { "X-API-Key": key } };
    return {
      createPage: (title) =>
        outcome(biolink.createPage({ title }, undefined, options), ({ id, urls }) => ({ id, qr: urls.qr })),
      listPages: (limit, cursor) =>
        outcome(biolink.listPages({ limit, cursor }, options), ({ data, next_cursor: next }) => ({ ids: data.map((page) => page.id), next })),
      readAnalytics: (page_id, metrics, group_by) =>
        outcome(biolink.readAnalytics({ page_id, metrics, group_by }, options), ({ totals, groups }) => ({
          totals: Object.keys(totals),
          groups: Object.keys(groups),
        })),
      createWebhook: (url, isTried) =>
        outcome(biolink.createWebhook({ url, events: ["click"] }, { dry_run: isTried }, options), ({ secret }) => ({ secret })),
      exportAccount: () => outcome(biolink.exportAccount(options), (lines) => lines),
    };
  },
};
