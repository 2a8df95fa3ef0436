// Every example of the bio-link description, sent to the running service: the response has the status and the schema that
// the description says (scripts/clients.sh).
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import Ajv from "ajv";
import addFormats from "ajv-formats";

const { ADMIN_SECRET, GATEWAY_BOUNDARY, GATEWAY_URL, RESOLVER_URL } = process.env;

/** What a document of OpenAPI has beside JSON Schema. */
const ajv = new Ajv({ strict: true, allErrors: true, keywords: ["components", "example", "discriminator"], formats: { int64: true } });
addFormats(ajv);
let description;

/** An image of one pixel. */
const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAG7buVgAAAABJRU5ErkJggg==", "base64");

async function call(method, path, { key, headers = {}, body, file } = {}) {
  const type = file ? "image/png" : "application/json";
  const response = await fetch(GATEWAY_URL + path, {
    method,
    headers: { ...(key ? { "x-api-key": key } : {}), ...(body === undefined && !file ? {} : { "content-type": type }), ...headers },
    body: file ?? (body === undefined ? undefined : JSON.stringify(body)),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

async function issueKey() {
  const holder = { email: "ada@example.com", name: "Ada", tier: "free", biolink_plan: "business", admin_secret: ADMIN_SECRET };
  const issued = await call("POST", "/v1/keys/issue", { body: holder });
  assert.equal(issued.status, 201, issued.text);
  return JSON.parse(issued.text).key;
}

const resolve = (value) =>
  value.$ref ? value.$ref.slice(2).split("/").reduce((found, name) => found[name], description) : value;

/** Makes what the operations of webhooks name: a webhook, a delivery to it, and an event that it wants. */
async function makeWebhook(key, { id, slug }, body) {
  const webhook = await call("POST", "/webhooks", { key, body });
  assert.equal(webhook.status, 201, webhook.text);
  const { id: webhookId } = JSON.parse(webhook.text);
  const tested = await call("POST", `/webhooks/${webhookId}/test`, { key, body: { type: "click" } });
  assert.equal(tested.status, 202, tested.text);
  const changed = await call("PATCH", `/pages/${id}`, { key, body: { title: `Ada of ${slug}`, status: "published" } });
  assert.equal(changed.status, 200, changed.text);
  const { data } = JSON.parse((await call("GET", "/events?wait=25", { key })).text);
  assert.equal(data.length, 1, "the publication is not in the event log");
  return { webhook_id: webhookId, delivery_id: JSON.parse(tested.text).id, event_id: data[0].id };
}

/** Adds a domain for a page, and sets the record that proves it. */
async function makeDomain(key, page) {
  const added = await call("POST", "/domains", { key, body: { host: `${page.slug}.ada.example`, page_id: page.id } });
  assert.equal(added.status, 201, added.text);
  const { id, dns: [{ name, value }] } = JSON.parse(added.text);
  assert.equal((await fetch(`${RESOLVER_URL}/?name=${name}&text=${value}`, { method: "POST" })).status, 200);
  return id;
}

/** Creates a product source of a page, as the example does. */
async function makeSource(key, page, operations) {
  const { requestBody } = operations.find(({ operationId }) => operationId === "create_product_source");
  const body = requestBody.content["application/json"].example;
  const made = await call("POST", `/pages/${page.id}/product-sources`, { key, body });
  assert.equal(made.status, 201, made.text);
  const source = JSON.parse(made.text);
  // Its object learns of it a moment later.
  const deadline = Date.now() + 60_000;
  while (JSON.parse((await call("GET", `/pages/${page.id}/product-sources/${source.id}/runs`, { key })).text).data.length === 0) {
    assert.ok(Date.now() < deadline, "the source does not run");
    await pause(200);
  }
  return source;
}

/** The headers of Standard Webhooks for the example of a push. */
function signature(secret, requestBody) {
  const body = JSON.stringify(requestBody.content["application/json"].example);
  const at = Math.floor(Date.now() / 1000);
  const bytes = Buffer.from(secret.replace("whsec_", ""), "base64");
  const mac = createHmac("sha256", bytes).update(`msg_1.${at}.${body}`).digest("base64");
  return { "webhook-id": "msg_1", "webhook-timestamp": String(at), "webhook-signature": `v1,${mac}` };
}

/** Replaces the ids and the slug of the examples by those of a page that exists, anywhere in a text. */
function translator(example, real, account) {
  const { confirm } = description.components.parameters;
  const pairs = [[example.id, real.id], [`"slug":"${example.slug}"`, `"slug":"${real.slug}"`], [confirm.example, account]];
  example.links.forEach((link, at) => pairs.push([link.id, real.links[at].id]));
  return (text) => pairs.reduce((translated, [from, to]) => translated.replaceAll(from, to), text);
}

function assertValid(schema, text, what) {
  // The components lie beside the schema, where its references look for them.
  const validate = ajv.compile({ ...schema, components: description.components });
  const value = JSON.parse(text);
  assert.ok(validate(value), `${what}: ${JSON.stringify(validate.errors)} in ${text}`);
}

const METHODS = ["get", "put", "post", "delete", "patch"];

if (GATEWAY_BOUNDARY === "edge") {
  before(async () => {
    description = JSON.parse((await call("GET", "/biolink/openapi.json")).text);
  });

  test("every_example_gets_its_described_response", async (context) => {
    const operations = Object.entries(description.paths).flatMap(([path, item]) =>
      METHODS.filter((method) => item[method]).map((method) => ({ path, method, ...item[method] })),
    );
    assert.ok(operations.length >= 17);
    const created = operations.find(({ operationId }) => operationId === "create_page");
    const hook = operations.find(({ operationId }) => operationId === "create_webhook");
    const body = created.requestBody.content["application/json"].example;
    const exampled = description.components.examples.Page.value;
    for (const [at, operation] of operations.entries()) {
      await context.test(operation.operationId, async () => {
        const key = await issueKey();
        const isCreate = operation === created;
        // A page of its own, under a slug of its own.
        const slug = `example-${at}`;
        let translate = (text) => text.replaceAll(`"slug":"${exampled.slug}"`, `"slug":"${slug}"`);
        if (!isCreate) {
          const page = await call("POST", "/pages", { key, body: { ...body, slug } });
          assert.equal(page.status, 201, page.text);
          const account = JSON.parse((await call("GET", "/account", { key })).text).id;
          translate = translator(exampled, JSON.parse(page.text), account);
        }
        const parameters = (operation.parameters ?? []).map(resolve);
        const named = parameters.filter((parameter) => ["webhook_id", "delivery_id", "event_id"].includes(parameter.name) && parameter.in === "path");
        if (named.length > 0) {
          const page = JSON.parse((await call("GET", `/pages?slug=${slug}`, { key })).text).data[0];
          const made = await makeWebhook(key, page, hook.requestBody.content["application/json"].example);
          const pairs = named.map((parameter) => [parameter.example, made[parameter.name]]);
          translate = (text) => pairs.reduce((translated, [from, to]) => translated.replace(from, to), text);
        }
        const ofSource = parameters.find(({ name }) => name === "source_id");
        let signed = {};
        if (ofSource) {
          const page = JSON.parse((await call("GET", `/pages?slug=${slug}`, { key })).text).data[0];
          const source = await makeSource(key, page, operations);
          const others = translate;
          translate = (text) => others(text).replaceAll(ofSource.example, source.id);
          if (operation.operationId === "push_products") signed = signature(source.push.secret, operation.requestBody);
        }
        const ofDomain = parameters.find(({ name }) => name === "domain_id");
        if (ofDomain) {
          const page = JSON.parse((await call("GET", `/pages?slug=${slug}`, { key })).text).data[0];
          const id = await makeDomain(key, page);
          translate = (text) => text.replaceAll(ofDomain.example, id);
        }
        const ofImage = parameters.find(({ name }) => name === "image_id");
        if (ofImage) {
          const { id } = JSON.parse((await call("POST", "/images", { key, file: PNG })).text);
          translate = (text) => text.replaceAll(ofImage.example, id);
        }
        const filled = parameters.filter((parameter) => parameter.required || (parameter.in === "query" && parameter.example !== undefined));
        const fill = (path, { in: place, name, example }) => {
          if (place === "path") return path.replace(`{${name}}`, translate(String(example)));
          return `${path}${path.includes("?") ? "&" : "?"}${name}=${translate(String(example))}`;
        };
        const path = filled.reduce(fill, operation.path);
        assert.doesNotMatch(path, /[{}]/);
        const request = operation.requestBody?.content["application/json"]?.example;
        const isUpload = operation.operationId === "upload_image";
        if (operation.requestBody && !isUpload) assert.notEqual(request, undefined, "a request body has an example");
        const isAdministrative = operation.security.some((scheme) => scheme.AdminSecret);
        const response = await call(operation.method.toUpperCase(), path, {
          key: isAdministrative ? undefined : key,
          headers: isAdministrative ? { authorization: `Bearer ${ADMIN_SECRET}` } : signed,
          body: request && JSON.parse(translate(JSON.stringify(request))),
          file: isUpload ? PNG : undefined,
        });
        const expected = Object.keys(operation.responses).filter((status) => status.startsWith("2"));
        // A 200 of what creates something is for dry runs. A push that only asks for a fetch is 202.
        const last = operation.operationId === "push_products" ? "200" : expected.at(-1);
        assert.equal(String(response.status), last, response.text);
        const described = operation.responses[response.status];
        for (const name of Object.keys(described.headers)) {
          if (name !== "Idempotency-Replayed") assert.ok(response.headers.has(name), name);
        }
        const content = described.content?.["application/json"];
        if (content) assertValid(content.schema, response.text, operation.operationId);
        const lines = described.content?.["application/x-ndjson"];
        if (lines) response.text.trim().split("\n").forEach((line) => assertValid(lines["x-itemSchema"], line, operation.operationId));
        if (!described.content) assert.equal(response.text, "");
      });
    }
  });

  test("report_by_every_group_has_its_described_schema", async () => {
    const key = await issueKey();
    const page = JSON.parse((await call("POST", "/pages", { key, body: { title: "Ada", slug: "reported", status: "published" } })).text);
    // So that each group but the targets has a value.
    const headers = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0" };
    assert.equal((await call("GET", `/${page.slug}`, { headers })).status, 200);
    const report = (query) => call("GET", `/analytics?interval=24h&${query}`, { key });
    const { schema } = description.paths["/analytics"].get.responses[200].content["application/json"];
    const { group_by: groups } = description.components.parameters;
    const { items, maxItems } = groups.schema;
    const views = async () => JSON.parse((await report("metrics=views")).text).totals.views;
    const deadline = Date.now() + 60_000;
    while ((await views()) === 0) {
      assert.ok(Date.now() < deadline, "the view is not counted");
      await pause(100);
    }
    for (let first = 0; first < items.enum.length; first += maxItems) {
      const asked = items.enum.slice(first, first + maxItems);
      const response = await report(`group_by=${asked}&compare=previous_period`);
      assert.equal(response.status, 200, response.text);
      assertValid(schema, response.text, asked.join());
      assert.deepEqual(Object.keys(JSON.parse(response.text).groups), asked);
    }
    const table = await report("format=csv&group_by=browser");
    assert.match(table.headers.get("content-type"), /^text\/csv;/);
    assert.equal(table.text, "browser,views,clicks,ctr\r\nFirefox,1,0,0\r\n");
    assertValid(description.paths["/analytics/live"].get.responses[200].content["application/json"].schema, (await call("GET", "/analytics/live", { key })).text, "live");
  });

  test("every_problem_that_can_be_provoked_has_its_described_schema", async () => {
    const key = await issueKey();
    const created = await call("POST", "/pages", { key, body: { title: "Ada" } });
    const { id } = JSON.parse(created.text);
    const refusals = [
      [401, "key-missing", "GET", "/pages", {}],
      [403, "analytics-window-exceeded", "GET", "/analytics?start=2020-01-01", { key }],
      [404, "page-unknown", "GET", "/analytics?page_id=pg_00000000000000000", { key }],
      [404, "page-unknown", "GET", "/pages/pg_00000000000000000", { key }],
      [404, "link-unknown", "DELETE", `/pages/${id}/links/lnk_00000000000000000`, { key }],
      [404, "webhook-unknown", "GET", "/webhooks/whe_00000000000000000", { key }],
      [404, "event-unknown", "GET", "/events/evt_0000000000000000000000", { key }],
      [404, "source-unknown", "GET", `/pages/${id}/product-sources/src_00000000000000000`, { key }],
      [404, "source-unknown", "POST", "/hooks/products/src_00000000000000000", { body: {} }],
      [404, "revision-unknown", "GET", `/pages/${id}/revisions/9`, { key }],
      [405, "method-not-allowed", "POST", "/account", { key, body: {} }],
      [412, "revision-mismatch", "DELETE", `/pages/${id}`, { key, headers: { "if-match": '"v9"' } }],
      [415, "media-type-unsupported", "POST", "/pages", { key, headers: { "content-type": "text/plain" }, body: {} }],
      [422, "fields-invalid", "POST", "/pages", { key, body: { titel: "Ada" } }],
    ];
    for (const [status, code, method, path, options] of refusals) {
      const refused = await call(method, path, options);
      assert.deepEqual([refused.status, refused.headers.get("x-gateway-problem")], [status, code], refused.text);
      assertValid(description.components.schemas.Problem, refused.text, code);
    }
  });
} else {
  test("description_of_biolink_is_404_without_an_edge", async () => {
    const response = await call("GET", "/biolink/openapi.json");
    assert.equal(response.status, 404);
    assert.match(JSON.parse(response.text).detail, /served by the edge/);
  });
}
