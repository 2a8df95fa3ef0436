// The official TypeScript clients sign in with OAuth, as a connector of somebody else's server does (scripts/clients.sh). The
// consent of the key's holder is the request that the view of the console sends.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { before, test } from "node:test";
import * as modern from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { ADMIN_SECRET, GATEWAY_URL } = process.env;
const ENDPOINT = new URL("/mcp", GATEWAY_URL);
const REDIRECT = "http://127.0.0.1:8976/callback";
let key;

/** Keeps what a client would keep, and opens what it would open in a browser. */
class Provider {
  redirectUrl = REDIRECT;
  clientMetadata = { client_name: "Agent", redirect_uris: [REDIRECT], grant_types: ["authorization_code", "refresh_token"], response_types: ["code"], token_endpoint_auth_method: "none" };
  renewed = 0;
  clientInformation = () => this.client;
  saveClientInformation = (client) => { this.client = client; };
  tokens = () => this.kept;
  saveTokens = (tokens) => { this.kept = tokens; this.renewed += 1; };
  saveCodeVerifier = (verifier) => { this.verifier = verifier; };
  codeVerifier = () => this.verifier;
  state = () => "a state";
  saveDiscoveryState = (found) => { this.found = found; };
  discoveryState = () => this.found;
  async redirectToAuthorization(url) {
    this.callback = await agree(url);
  }
}

/** Does what a person does in a browser: opens the address, and agrees. */
async function agree(url) {
  const asked = await fetch(url, { redirect: "manual" });
  assert.equal(asked.status, 303, await asked.clone().text());
  const request = new URL(asked.headers.get("location"), GATEWAY_URL).searchParams.get("request");
  const shown = await (await fetch(new URL(`/oauth/consent?request=${request}`, GATEWAY_URL))).json();
  const response = await fetch(new URL("/oauth/consent", GATEWAY_URL), {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key },
    body: JSON.stringify({ request, name: `${shown.client.name} ${crypto.randomUUID()}`, scopes: shown.scopes }),
  });
  assert.equal(response.status, 200, await response.clone().text());
  return new URL((await response.json()).redirect_to);
}

before(async () => {
  const issued = { email: "oauth@example.com", name: "Agent", tier: "free", biolink_plan: "business", admin_secret: ADMIN_SECRET };
  const response = await fetch(new URL("/v1/keys/issue", GATEWAY_URL), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(issued),
  });
  assert.equal(response.status, 201, await response.clone().text());
  ({ key } = await response.json());
});

const CLIENTS = [
  ["sdk", () => new Client({ name: "connector", version: "1.0.0" }), StreamableHTTPClientTransport],
  ["client", () => new modern.Client({ name: "connector", version: "1.0.0" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } }), modern.StreamableHTTPClientTransport],
];

for (const [name, make, Transport] of CLIENTS) {
  test(`mcp_typescript_${name}_signs_in_and_renews_its_token`, async () => {
    const authProvider = new Provider();
    const connect = async () => {
      const [client, transport] = [make(), new Transport(ENDPOINT, { authProvider })];
      try {
        await client.connect(transport);
      } catch (error) {
        if (!authProvider.callback) throw error;
        const { searchParams } = authProvider.callback;
        assert.equal(searchParams.get("state"), "a state");
        assert.equal(searchParams.get("iss"), ENDPOINT.origin);
        await transport.finishAuth(searchParams.get("code"), searchParams.get("iss"));
        authProvider.callback = undefined;
        return connect();
      }
      return client;
    };
    const client = await connect();
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name: tool }) => tool === "call_tool"));
    assert.ok(tools.some(({ name: tool }) => tool === "list_pages"));
    const usage = await client.callTool({ name: "read_usage", arguments: {} });
    assert.equal(usage.structuredContent.tier, "free");
    // A token that is refused is renewed without anybody being asked.
    const before = authProvider.kept.refresh_token;
    authProvider.kept = { ...authProvider.kept, access_token: "utg_live_ended" };
    await client.callTool({ name: "read_usage", arguments: {} });
    assert.equal(authProvider.callback, undefined);
    assert.notEqual(authProvider.kept.refresh_token, before);
    await client.close();
  });
}

/** Returns a port that nothing listens on. */
async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** The scenarios of the official conformance suite for authorization servers. It prints the address that a person opens. */
test("mcp_authorization_server_conforms", async () => {
  const port = await freePort();
  const callback = `http://127.0.0.1:${port}/callback`;
  const registered = await fetch(new URL("/oauth/register", GATEWAY_URL), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: "Suite", redirect_uris: [callback], token_endpoint_auth_method: "none" }),
  });
  assert.equal(registered.status, 201, await registered.clone().text());
  const { client_id: client } = await registered.json();
  const options = ["--url", ENDPOINT.origin, "--client-id", client, "--resource", ENDPOINT.href, "--port", String(port)];
  const suite = spawn("conformance", ["authorization", ...options], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(suite, "exit");
  const lines = [];
  for await (const line of createInterface(suite.stdout)) {
    lines.push(line);
    if (line.startsWith(`${ENDPOINT.origin}/oauth/authorize?`)) await fetch(await agree(new URL(line)));
  }
  const [status] = await ended;
  const printed = lines.join("\n");
  assert.equal(status, 0, printed);
  for (const scenario of ["authorization-server-metadata-endpoint", "authorization-code-grant"]) {
    assert.match(printed, new RegExp(`✓ ${scenario}: [1-9]\\d* passed, 0 failed`));
  }
});
