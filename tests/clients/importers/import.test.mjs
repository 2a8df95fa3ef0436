// What Postman, Bruno and Insomnia make of both descriptions (scripts/clients.sh): a request for each operation, which can be sent.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import Ajv from "ajv";
import addFormats from "ajv-formats";

const { DESCRIPTIONS } = process.env;
const JSON_BODY = "application/json";
/** What importers write where a description has no example. */
const MADE_UP = /^(string|<.*>|key_\d+|\[object Object\])$/;

const read = (folder, name) => JSON.parse(readFileSync(path.join(folder, `${name}.json`), "utf8"));

/** Returns the operations of a description, each by its method and path. */
function operationsOf({ paths }) {
  const operations = Object.entries(paths).flatMap(([at, item]) => Object.entries(item).map(([method, operation]) => [`${method.toUpperCase()} ${at}`, operation]));
  return new Map(operations);
}

/** Returns the schemas of OpenAPI 3.0 as those of JSON Schema: `nullable` is a type. */
function jsonSchema(value) {
  if (Array.isArray(value)) return value.map(jsonSchema);
  if (value === null || typeof value !== "object") return value;
  const { nullable, ...members } = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, jsonSchema(member)]));
  if (typeof nullable !== "boolean") return nullable === undefined ? members : { ...members, nullable };
  return { ...members, ...(nullable && members.type && { type: [members.type, "null"] }) };
}

for (const name of ["gateway", "biolink"]) {
  const description = read(DESCRIPTIONS, name);
  const operations = operationsOf(description);
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats(ajv);
  const components = jsonSchema(description.components);

  for (const importer of ["postman", "bruno", "insomnia"]) {
    const requests = read(path.join(import.meta.dirname, "generated"), `${importer}-${name}`);
    const each = (check) => {
      for (const request of requests) check(operations.get(`${request.method} ${request.path}`), request, `${request.method} ${request.path}`);
    };

    test(`${importer}_of_${name}_has_each_operation_in_the_folder_of_its_tag`, () => {
      assert.deepEqual(requests.map(({ method, path: at }) => `${method} ${at}`).sort(), [...operations.keys()].sort());
      each(({ tags }, { folders }, at) => assert.deepEqual(folders, tags, at));
    });

    test(`${importer}_of_${name}_sends_the_key_where_the_operation_takes_it`, () => {
      const expected = { ApiKey: "X-API-Key", AdminSecret: "bearer" };
      each(({ security }, { auth }, at) => assert.equal(auth, expected[Object.keys(security[0] ?? {})[0]] ?? null, at));
    });

    test(`${importer}_of_${name}_has_bodies_that_their_schemas_take`, () => {
      let bodies = 0;
      each(({ requestBody }, { body }, at) => {
        const schema = requestBody?.content[JSON_BODY]?.schema;
        if (!schema) return;
        const validate = ajv.compile({ ...jsonSchema(schema), components });
        assert.ok(validate(JSON.parse(body)), `${at}: ${body}: ${ajv.errorsText(validate.errors)}`);
        bodies++;
      });
      assert.ok(bodies > 15, `${bodies}`);
    });

    if (name === "gateway") {
      test(`${importer}_shows_the_example_of_each_tool`, () => {
        let tools = 0;
        each(({ operationId, requestBody, parameters }, { body, parameters: shown }, at) => {
          if (!at.endsWith("/{action}")) return;
          tools++;
          if (operationId.endsWith("_post")) assert.deepEqual(JSON.parse(body), requestBody.content[JSON_BODY].example, at);
          for (const [parameter, value] of shown) assert.doesNotMatch(`${parameter}\n${value}`, new RegExp(MADE_UP, "m"), at);
          // Insomnia writes the action as a variable.
          const action = shown.find(([parameter]) => parameter === "action")?.[1];
          if (importer !== "insomnia") assert.equal(action, parameters.find(({ name: parameter }) => parameter === "action").example, at);
        });
        assert.equal(tools, 34);
      });
    }
  }
}
