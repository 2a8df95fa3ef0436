// The official conformance suite of the Model Context Protocol (scripts/clients.sh). It sends no key, so a proxy of this machine
// adds one, as a developer's does.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import http from "node:http";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

const { ADMIN_SECRET, GATEWAY_URL } = process.env;
const SCENARIOS = [
  "server-initialize",
  "ping",
  "tools-list",
  "dns-rebinding-protection",
  "http-header-validation",
  "input-required-result-unsupported-methods",
  "input-required-result-validate-input",
];
/** Checks of `server-stateless` that call tools which only a server made for the suite has. */
const WITHOUT_TOOL = [
  "sep-2575-http-server-no-independent-requests-on-stream",
  "sep-2575-missing-capability-http-400",
  "sep-2575-server-no-log-without-loglevel",
  "sep-2575-server-rejects-undeclared-capability",
];
const run = promisify(execFile);
let proxy;

before(async () => {
  const issued = { email: "conformance@example.com", name: "Agent", tier: "free", biolink_plan: "business", admin_secret: ADMIN_SECRET };
  const response = await fetch(new URL("/v1/keys/issue", GATEWAY_URL), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(issued),
  });
  assert.equal(response.status, 201, await response.clone().text());
  const { key } = await response.json();
  const { hostname, port } = new URL(GATEWAY_URL);
  proxy = http.createServer((incoming, outgoing) => {
    const { method, url: path } = incoming;
    // `Host` and `Origin` go on as they came: they are what the suite asks about.
    const headers = { ...incoming.headers, "x-api-key": key };
    const forwarded = http.request({ hostname, port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.pipe(outgoing);
    });
    forwarded.on("error", () => outgoing.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise((listening) => proxy.listen(0, "127.0.0.1", listening));
});
after(() => proxy?.close());

for (const scenario of SCENARIOS) {
  test(`mcp_conforms_to_${scenario.replaceAll("-", "_")}`, async () => {
    const url = `http://localhost:${proxy.address().port}/mcp`;
    const { stdout } = await run("conformance", ["server", "--url", url, "--scenario", scenario]).catch((error) =>
      assert.fail(`${error.stdout}\n${error.stderr}`.slice(0, 4_000)),
    );
    const passed = Number(/Passed: (\d+)\//.exec(stdout)?.[1]);
    assert.ok(passed > 0, stdout);
  });
}

test("mcp_conforms_to_server_stateless_but_for_tools_of_the_suite", async () => {
  const url = `http://localhost:${proxy.address().port}/mcp`;
  const options = ["server", "--url", url, "--scenario", "server-stateless"];
  const { stdout } = await run("conformance", options).catch((error) => error);
  const plain = stdout.replaceAll(/\u001b\[\d+m/g, "");
  const failed = [...plain.matchAll(/\[(\S+) *\] FAILURE /g)].map(([, id]) => id);
  assert.deepEqual(failed.sort(), WITHOUT_TOOL, plain);
  assert.match(plain, /Passed: 21\/25, 4 failed/);
});
