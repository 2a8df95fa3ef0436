// The descriptions as they are served, under the eyes of two linters: no errors, no warnings (scripts/clients.sh).
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";

const ROOT = path.resolve(import.meta.dirname, "../..");
const { GATEWAY_BOUNDARY, GATEWAY_URL } = process.env;
/** Bio-link pages are served by the edge alone. */
const DESCRIPTIONS = { edge: { gateway: "/openapi.json", biolink: "/biolink/openapi.json" }, direct: { gateway: "/openapi.json" } };
const folder = mkdtempSync(path.join(tmpdir(), "openapi-"));

after(() => rmSync(folder, { recursive: true }));

/** Lints a description with a program of node_modules, offline, and returns its report. */
function lint(program, file, ...options) {
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
  const command = path.join(ROOT, "node_modules/.bin", program);
  const ran = spawnSync(command, ["lint", file, "--format", "json", ...options], { cwd: ROOT, env, encoding: "utf8" });
  assert.ifError(ran.error);
  try {
    return JSON.parse(ran.stdout);
  } catch {
    throw new Error(`${program} ended with ${ran.status} and without a report:\n${ran.stdout}${ran.stderr}`);
  }
}

for (const [name, served] of Object.entries(DESCRIPTIONS[GATEWAY_BOUNDARY])) {
  const file = path.join(folder, `${name}.json`);
  let description;

  before(async () => {
    description = await (await fetch(GATEWAY_URL + served)).json();
    writeFileSync(file, JSON.stringify(description, null, 2));
  });

  test(`${name}_description_of_${GATEWAY_BOUNDARY}_is_openapi_3_0_3`, () => assert.equal(description.openapi, "3.0.3"));

  test(`${name}_description_of_${GATEWAY_BOUNDARY}_is_clean_under_redocly`, () => {
    const { problems, totals } = lint("redocly", file, "--config", "tests/clients/redocly.yaml");
    assert.deepEqual(problems, []);
    assert.deepEqual(totals, { errors: 0, warnings: 0, ignored: 0 });
  });

  test(`${name}_description_of_${GATEWAY_BOUNDARY}_is_clean_under_spectral`, () => {
    assert.deepEqual(lint("spectral", file, "--ruleset", "tests/clients/spectral.yaml", "--quiet"), []);
  });
}
