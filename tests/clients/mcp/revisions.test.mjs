// The official TypeScript client, pinned to each revision of the Model Context Protocol (scripts/clients.sh).
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import Ajv2020 from "ajv/dist/2020.js";

const { ADMIN_SECRET, GATEWAY_URL } = process.env;
const MODERN = "2026-07-28";
const LEGACY = ["2025-11-25", "2025-06-18"];
const EVERY = "/mcp?toolsets=tools,pages,analytics,webhooks,domains,keys,account";
let key;

/** The options of a client that speaks one revision and no other. */
const pinned = (revision) =>
  revision === MODERN ? { versionNegotiation: { mode: { pin: revision } } } : { supportedProtocolVersions: [revision] };

async function connected(options, path = "/mcp", token = key) {
  const client = new Client({ name: "conformance", version: "1.0.0" }, options);
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(path, GATEWAY_URL), { requestInit: { headers } }));
  return client;
}

/** Sends a message as no client does. */
const post = (message, headers = {}) =>
  fetch(new URL("/mcp", GATEWAY_URL), {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", "x-api-key": key, ...headers },
    body: JSON.stringify(message),
  });

before(async () => {
  const issued = { email: "revisions@example.com", name: "Agent", tier: "free", biolink_plan: "business", admin_secret: ADMIN_SECRET };
  const response = await fetch(new URL("/v1/keys/issue", GATEWAY_URL), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(issued),
  });
  assert.equal(response.status, 201, await response.clone().text());
  ({ key } = await response.json());
});

for (const revision of [MODERN, ...LEGACY]) {
  test(`mcp_client_pinned_to_${revision}_lists_and_calls_tools`, async () => {
    const client = await connected(pinned(revision));
    assert.equal(client.getNegotiatedProtocolVersion(), revision);
    assert.equal(client.getServerVersion().name, "unified-tool-gateway");
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === "call_tool"));
    const usage = await client.callTool({ name: "read_usage", arguments: {} });
    assert.equal(usage.structuredContent.tier, "free");
    const body = { url: "https://example.com" };
    const { content } = await client.callTool({ name: "call_tool", arguments: { tool: "qr", action: "generate", body } });
    assert.deepEqual([content[0].type, content[0].mimeType], ["image", "image/png"]);
    const described = await client.callTool({ name: "qr_generate", arguments: { body } });
    assert.deepEqual([described.content[0].type, described.content[0].mimeType], ["image", "image/png"]);
    const refused = await client.callTool({ name: "create_page", arguments: { body: { titel: "x" } } });
    assert.deepEqual([refused.isError, refused.structuredContent.code], [true, "fields-invalid"]);
    await assert.rejects(client.callTool({ name: "nothing", arguments: {} }), { code: -32602 });
    await client.close();
  });
}

test("mcp_client_that_negotiates_agrees_on_the_newest_revision", async () => {
  const client = await connected({ versionNegotiation: { mode: "auto" } });
  assert.equal(client.getNegotiatedProtocolVersion(), MODERN);
  await client.close();
});

test("mcp_revision_that_is_not_served_is_refused_with_those_that_are", async () => {
  const response = await post({ jsonrpc: "2.0", id: 1, method: "tools/list" }, { "mcp-protocol-version": "1900-01-01" });
  const { id, error } = await response.json();
  assert.deepEqual([response.status, id, error.code], [400, 1, -32022]);
  assert.deepEqual(error.data, { supported: [MODERN, ...LEGACY], requested: "1900-01-01" });
});

test("mcp_header_that_says_something_else_is_a_mismatch", async () => {
  const _meta = { "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {} };
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { _meta, name: "read_usage" } };
  const headers = { "mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "read_usage" };
  assert.equal((await post(call, headers)).status, 200);
  for (const wrong of [{ "mcp-name": "delete_page" }, { "mcp-method": "tools/list" }, { "mcp-protocol-version": LEGACY[0] }]) {
    const response = await post(call, { ...headers, ...wrong });
    assert.deepEqual([response.status, (await response.json()).error.code], [400, -32020], JSON.stringify(wrong));
  }
  const unknown = await post({ ...call, method: "resources/list" }, { ...headers, "mcp-method": "resources/list" });
  assert.deepEqual([unknown.status, (await unknown.json()).error.code], [404, -32601]);
});

test("mcp_listed_schemas_are_json_schema_2020_12", async () => {
  const client = await connected(pinned(MODERN), EVERY);
  const { tools } = await client.listTools();
  assert.ok(tools.length > 40, `${tools.length}`);
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  for (const { name, inputSchema, outputSchema } of tools) {
    for (const schema of [inputSchema, outputSchema].filter(Boolean)) {
      assert.ok(ajv.validateSchema(schema), `${name}: ${ajv.errorsText()}`);
      ajv.compile(schema);
      assert.ok(!JSON.stringify(schema).includes('"nullable"'), name);
    }
  }
  await client.close();
});

test("mcp_default_list_has_at_most_30_kb", async () => {
  const response = await post({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  const text = await response.text();
  const { tools } = JSON.parse(text).result;
  // With what the tools describe: an agent reads it all.
  const bytes = Buffer.byteLength(text);
  console.log(`tools/list: ${bytes} bytes, ${tools.length} tools`);
  assert.ok(bytes <= 30_000, `${bytes}`);
});
