// A client that openapi-typescript and openapi-fetch make of the description, calling the gateway (scripts/clients.sh).
import assert from "node:assert/strict";
import { test } from "node:test";
import { administration, gateway } from "./generated/client.js";

const { ADMIN_SECRET, GATEWAY_KEY, GATEWAY_URL } = process.env;
const administrator = administration(GATEWAY_URL, ADMIN_SECRET);

async function issueKey(tier = "pro") {
  const { data, response } = await administrator.issueKey("ada@example.com", tier);
  assert.equal(response.status, 201);
  return data;
}

test("typescript_readme_call_returns_svg", async () => {
  const { data, response } = await gateway(GATEWAY_URL, GATEWAY_KEY).qrCode("https://example.com", 256);
  assert.equal(response.status, 200);
  assert.match(response.headers.get("content-type"), /^image\/svg\+xml/);
  assert.match(await data.text(), /<svg[\s>]/);
});

test("typescript_issued_key_reads_itself", async () => {
  const issued = await issueKey();
  const { data, response } = await gateway(GATEWAY_URL, issued.key).ownKey();
  assert.equal(response.status, 200);
  assert.equal(data.id, issued.id);
  assert.equal(data.tier, "pro");
  assert.equal(data.usage.minute.limit, 100);
  assert.equal(data.holder?.email, "ada@example.com");
});

test("typescript_key_list_reaches_page_2", async () => {
  for (let issued = 0; issued < 3; issued++) await issueKey("free");
  const first = await administrator.listKeys(2);
  assert.equal(first.response.status, 200);
  assert.equal(first.data.keys.length, 2);
  assert.ok(first.data.cursor);
  const second = await administrator.listKeys(2, first.data.cursor);
  assert.equal(second.response.status, 200, JSON.stringify(second.error));
  assert.ok(second.data.keys.length > 0);
  const seen = new Set(first.data.keys.map((key) => key.id));
  assert.ok(second.data.keys.every((key) => !seen.has(key.id)));
});

test("typescript_invalid_fields_are_a_typed_problem", async () => {
  const { data, error, response } = await administrator.issueKey("not an address", "pro");
  assert.equal(response.status, 422);
  assert.equal(data, undefined);
  assert.equal(error.code, "fields-invalid");
  assert.equal(error.errors[0].pointer, "#/email");
});

test("typescript_missing_key_is_401_key_missing", async () => {
  const { error, response } = await gateway(GATEWAY_URL).ownKey();
  assert.equal(response.status, 401);
  assert.equal(error.code, "key-missing");
  assert.equal(error.request_id, response.headers.get("x-request-id"));
});

test("typescript_tool_error_is_told_from_the_gateways", async () => {
  const { response } = await gateway(GATEWAY_URL, GATEWAY_KEY).callForStatus(404);
  assert.equal(response.status, 404);
  assert.equal(response.headers.get("x-gateway-problem"), null);
  const refused = await gateway(GATEWAY_URL).callForStatus(404);
  assert.equal(refused.response.headers.get("x-gateway-problem"), "key-missing");
});
