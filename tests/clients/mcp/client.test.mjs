// The official client of the Model Context Protocol against the edge (scripts/clients.sh). Prints what it conforms to.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { LATEST_PROTOCOL_VERSION } from "@modelcontextprotocol/sdk/types.js";

const { ADMIN_SECRET, GATEWAY_URL } = process.env;
const ENDPOINT = new URL("/mcp", GATEWAY_URL);
const summary = [];
let key;
let client;
let transport;

const conforms = (name, check) => test(`mcp_${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "_")}`, async () => {
  await check();
  summary.push(name);
});

async function issueKey(email = "agent@example.com") {
  const issued = { email, name: "Agent", tier: "free", biolink_plan: "business", admin_secret: ADMIN_SECRET };
  const response = await fetch(new URL("/v1/keys/issue", GATEWAY_URL), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(issued),
  });
  assert.equal(response.status, 201, await response.clone().text());
  return (await response.json()).key;
}

/** Sends a message without the client, as it must never do. */
const post = (message, headers = {}) =>
  fetch(ENDPOINT, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", "x-api-key": key, ...headers },
    body: typeof message === "string" ? message : JSON.stringify(message),
  });

const call = (name, args) => client.callTool({ name, arguments: args });

before(async () => {
  key = await issueKey();
  transport = new StreamableHTTPClientTransport(ENDPOINT, { requestInit: { headers: { "x-api-key": key } } });
  client = new Client({ name: "conformance", version: "1.0.0" });
  await client.connect(transport);
});
after(async () => {
  await client?.close();
  console.log(`MCP ${LATEST_PROTOCOL_VERSION}: ${summary.length} checks passed with the official client\n  ${summary.join("\n  ")}`);
});

conforms("initialize negotiates the newest revision", async () => {
  assert.equal(transport.protocolVersion, LATEST_PROTOCOL_VERSION);
  assert.equal(client.getServerVersion().name, "unified-tool-gateway");
  assert.ok(client.getServerCapabilities().tools);
  assert.equal(transport.sessionId, undefined, "there are no sessions");
});

conforms("ping is responded to", () => client.ping());

conforms("tools list has schemas and hints", async () => {
  const { tools } = await client.listTools();
  const byName = Object.fromEntries(tools.map((tool) => [tool.name, tool]));
  assert.ok(tools.length > 20);
  assert.equal(byName.list_pages.annotations.readOnlyHint, true);
  assert.equal(byName.delete_page.annotations.destructiveHint, true);
  assert.equal(byName.call_tool.annotations.readOnlyHint, false);
  const { add_link: add } = byName;
  assert.deepEqual([add.annotations.destructiveHint, add.annotations.idempotentHint], [false, undefined]);
  for (const name of ["erase_account", "export_account", "read_webhook_secret"]) assert.ok(!byName[name], name);
  assert.ok(byName.call_tool.inputSchema.properties.tool.enum.includes("qr"));
});

conforms("call of a tool returns its image as PNG", async () => {
  const arguments_ = { tool: "qr", action: "generate", body: { url: "https://example.com" } };
  const { content, isError, _meta } = await call("call_tool", arguments_);
  assert.ok(!isError, JSON.stringify(content));
  assert.deepEqual([content[0].type, content[0].mimeType], ["image", "image/png"]);
  assert.match(_meta.ratelimit, /"minute";r=\d+/);
  const svg = await call("call_tool", { ...arguments_, body: { ...arguments_.body, format: "svg" } });
  assert.equal(svg.content[0].type, "text");
  assert.match(svg.content[0].text, /<svg/);
});

conforms("page is created, read, changed and deleted", async () => {
  const slug = `agent-${Date.now().toString(36)}`;
  const made = await call("create_page", { body: { title: "Agent", slug, status: "published", links: [{ title: "News", url: "https://example.com" }] } });
  assert.ok(!made.isError, JSON.stringify(made));
  const { id } = made.structuredContent;
  const added = await call("add_link", { page_id: id, body: { title: "More", url: "https://example.com/more" } });
  assert.ok(!added.isError, JSON.stringify(added));
  const read = await call("read_page", { page_id: id });
  assert.equal(read.structuredContent.links.length, 2);
  const changed = await call("patch_page", { page_id: id, if_match: read._meta.etag, body: { title: "Changed" } });
  assert.equal(changed.structuredContent.title, "Changed");
  const stale = await call("patch_page", { page_id: id, if_match: read._meta.etag, body: { title: "Lost" } });
  assert.equal(stale.structuredContent.code, "revision-mismatch");
  const listed = await call("list_pages", { slug });
  assert.equal(listed.structuredContent.data.length, 1);
  const report = await call("read_analytics", { interval: "7d", metrics: ["views", "clicks"] });
  assert.ok(!report.isError, JSON.stringify(report));
  const gone = await call("delete_page", { page_id: id });
  assert.ok(!gone.isError, JSON.stringify(gone));
});

conforms("product source is added, read, refreshed and deleted", async () => {
  const made = await call("create_page", { body: { title: "Shop" } });
  const page_id = made.structuredContent.id;
  const body = { url: "https://shop.example.com/feed.xml" };
  const dry = await call("create_product_source", { page_id, dry_run: true, body });
  assert.equal(dry._meta.status, 200, JSON.stringify(dry));
  const added = await call("create_product_source", { page_id, body });
  assert.equal(added._meta.status, 201, JSON.stringify(added));
  const source_id = added.structuredContent.id;
  const listed = await call("list_product_sources", { page_id });
  assert.deepEqual(listed.structuredContent.data.map(({ id }) => id), [source_id]);
  const runs = await call("list_product_source_runs", { page_id, source_id });
  assert.ok(Array.isArray(runs.structuredContent.data), JSON.stringify(runs));
  const early = await call("refresh_product_source", { page_id, source_id });
  assert.ok([202, 429].includes(early._meta.status), JSON.stringify(early));
  const gone = await call("delete_product_source", { page_id, source_id, keep_products: false });
  assert.equal(gone._meta.status, 204, JSON.stringify(gone));
});

conforms("events that a webhook wants are read", async () => {
  const { structuredContent: hook } = await call("create_webhook", { body: { url: "https://hooks.example.com/agent", events: ["page_published"] } });
  const { structuredContent: page } = await call("create_page", { body: { title: "News", status: "published" } });
  const logged = await call("list_events", { after: 0, wait: 20 });
  assert.ok(!logged.isError, JSON.stringify(logged));
  const [event] = logged.structuredContent.data;
  assert.deepEqual([event.type, event.data.page.id], ["page_published", page.id]);
  const read = await call("read_event", { event_id: event.id });
  assert.equal(read.structuredContent.id, event.id);
  await call("delete_webhook", { webhook_id: hook.id });
});

conforms("account is exported where its toolset is named, and never erased", async () => {
  await call("create_page", { body: { title: "Exported" } });
  await assert.rejects(call("export_account", {}), { code: -32602 });
  const own = new Client({ name: "export", version: "1.0.0" });
  const endpoint = new URL("?toolsets=account", ENDPOINT);
  await own.connect(new StreamableHTTPClientTransport(endpoint, { requestInit: { headers: { "x-api-key": key } } }));
  const exported = await own.callTool({ name: "export_account", arguments: {} });
  assert.equal(exported.content[0].type, "text", JSON.stringify(exported));
  const lines = exported.content[0].text.trim().split("\n").map((line) => JSON.parse(line));
  assert.ok(lines.some(({ object }) => object === "page"));
  assert.equal(lines.at(-1).object, "end");
  await assert.rejects(own.callTool({ name: "erase_account", arguments: {} }), { code: -32602 });
  await own.close();
});

conforms("usage of the key is read", async () => {
  const { structuredContent } = await call("read_usage", {});
  assert.equal(structuredContent.tier, "free");
});

conforms("problem is an error of the tool with its code", async () => {
  const refused = await call("create_page", { body: { titel: "x" } });
  assert.equal(refused.isError, true);
  assert.equal(refused.structuredContent.code, "fields-invalid");
  assert.equal(JSON.parse(refused.content[0].text).code, "fields-invalid");
  const wrong = await call("read_page", {});
  assert.equal(wrong.isError, true);
  assert.match(wrong.content[0].text, /page_id/);
});

conforms("unknown tool and method are errors of JSON-RPC", async () => {
  await assert.rejects(call("nothing", {}), { code: -32602 });
  const response = await post({ jsonrpc: "2.0", id: 1, method: "resources/list" });
  assert.equal((await response.json()).error.code, -32601);
});

conforms("GET is 405 and notifications are 202", async () => {
  const stream = await fetch(ENDPOINT, { headers: { accept: "text/event-stream", "x-api-key": key } });
  assert.deepEqual([stream.status, stream.headers.get("allow")], [405, "POST, OPTIONS"]);
  const notified = await post({ jsonrpc: "2.0", method: "notifications/initialized" });
  assert.deepEqual([notified.status, await notified.text()], [202, ""]);
});

conforms("batches, broken messages and unknown revisions are 400", async () => {
  assert.equal((await post([{ jsonrpc: "2.0", id: 1, method: "ping" }])).status, 400);
  assert.equal((await post("{")).status, 400);
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  assert.equal((await post(ping, { "mcp-protocol-version": "1999-01-01" })).status, 400);
});

conforms("message without a valid key is 401", async () => {
  const refused = await post({ jsonrpc: "2.0", id: 1, method: "ping" }, { "x-api-key": "nonsense" });
  assert.deepEqual([refused.status, (await refused.json()).code], [401, "key-malformed"]);
  assert.ok(refused.headers.get("www-authenticate"));
});
