// What tests of the console and of the service have in common.
import assert from "node:assert/strict";

/** Sends a request to the API. Returns the JSON of its response. */
export async function callApi(edge, key, method, path, body) {
  const headers = { "x-api-key": key, "content-type": "application/json" };
  const response = await fetch(edge.origin + path, { method, headers, body: body && JSON.stringify(body) });
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${response.ok || (await response.text())}`);
  return response.json();
}

/** Checks that a window complained of nothing, but of problems of the API if `refused`, and sent nothing elsewhere, and closes it. */
export async function assertQuiet({ complaints, requests, origin, close }, refused = false) {
  await close();
  assert.deepEqual(complaints.filter((text) => !refused || !text.startsWith("Failed to load resource")), []);
  assert.deepEqual(requests.filter((url) => !url.startsWith(origin)), []);
}
