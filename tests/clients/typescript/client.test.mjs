// The clients that each generator of npm makes of both descriptions, calling the gateway (scripts/clients.sh).
import assert from "node:assert/strict";
import { test } from "node:test";
import { generators } from "./generated/clients.js";

const { ADMIN_SECRET, GATEWAY_BOUNDARY, GATEWAY_KEY, GATEWAY_URL } = process.env;
const PNG = [0x89, 0x50, 0x4e, 0x47];

/** Returns the value of a call that must succeed. */
function value(result) {
  assert.equal(result.problem, undefined, JSON.stringify(result.problem));
  return result.value;
}

for (const [name, { client, administration, pages }] of Object.entries(generators)) {
  const administrator = administration(GATEWAY_URL, ADMIN_SECRET);
  const issueKey = async () => value(await administrator.issueKey("ada@example.com"));

  test(`${name}_tool_response_is_bytes`, async () => {
    const image = value(await client(GATEWAY_URL, GATEWAY_KEY).qrCode("https://example.com"));
    assert.deepEqual([...new Uint8Array(await image.arrayBuffer()).slice(0, 4)], PNG);
  });

  test(`${name}_issued_key_reads_itself`, async () => {
    const { id, key } = await issueKey();
    assert.deepEqual(value(await client(GATEWAY_URL, key).ownKey()), { id, limit: 10 });
  });

  test(`${name}_key_list_reaches_page_2`, async () => {
    for (let issued = 0; issued < 3; issued++) await issueKey();
    const first = value(await administrator.listKeys(2));
    assert.equal(first.ids.length, 2);
    const second = value(await administrator.listKeys(2, first.next));
    assert.ok(second.ids.length > 0 && second.ids.every((id) => !first.ids.includes(id)));
  });

  test(`${name}_invalid_field_is_a_typed_problem`, async () => {
    const { problem } = await administrator.issueKey("not an address");
    assert.deepEqual(problem, { status: 422, code: "fields-invalid", pointers: ["#/email"] });
  });

  test(`${name}_malformed_key_is_a_typed_problem`, async () => {
    const { problem } = await client(GATEWAY_URL, "no key").ownKey();
    assert.deepEqual(problem, { status: 401, code: "key-malformed", pointers: [] });
  });

  if (client(GATEWAY_URL, GATEWAY_KEY).callForStatus) {
    test(`${name}_tool_error_is_told_from_the_gateways`, async () => {
      assert.deepEqual(await client(GATEWAY_URL, GATEWAY_KEY).callForStatus(404), [404, null]);
      assert.deepEqual(await client(GATEWAY_URL, "no key").callForStatus(404), [401, "key-malformed"]);
    });
  }

  // Bio-link pages are served by the edge alone.
  if (GATEWAY_BOUNDARY !== "edge") continue;
  const account = async () => pages(GATEWAY_URL, (await issueKey()).key);

  test(`${name}_page_list_reaches_page_2`, async () => {
    const owner = await account();
    const created = [];
    for (const title of ["One", "Two", "Three"]) created.push(value(await owner.createPage(title)));
    assert.ok(created.every((page) => page.qr.endsWith("/qr.svg")));
    const first = value(await owner.listPages(2));
    const second = value(await owner.listPages(2, first.next));
    assert.deepEqual([...first.ids, ...second.ids].sort(), created.map((page) => page.id).sort());
    assert.deepEqual([first.ids.length, second.next], [2, null]);
  });

  test(`${name}_invalid_page_is_a_typed_problem`, async () => {
    const { problem } = await (await account()).createPage("x".repeat(81));
    assert.deepEqual(problem, { status: 422, code: "fields-invalid", pointers: ["#/title"] });
  });

  test(`${name}_lists_of_a_query_are_read`, async () => {
    const owner = await account();
    const created = [value(await owner.createPage("One")), value(await owner.createPage("Two"))];
    const report = value(await owner.readAnalytics(created.map((page) => page.id), ["views", "clicks"], ["country", "device"]));
    assert.deepEqual([report.totals.sort(), report.groups.sort()], [["clicks", "views"], ["country", "device"]]);
  });

  test(`${name}_webhook_has_a_secret_unless_it_is_tried`, async () => {
    const owner = await account();
    const url = "https://hooks.example.com/";
    assert.equal(value(await owner.createWebhook(url, true)).secret, null);
    assert.match(value(await owner.createWebhook(url, false)).secret, /^whsec_/);
  });

  test(`${name}_export_is_lines`, async () => {
    const lines = (await value(await (await account()).exportAccount()).text()).trim().split("\n");
    assert.deepEqual([lines[0], lines.at(-1)].map((line) => JSON.parse(line).object), ["account", "end"]);
  });
}
