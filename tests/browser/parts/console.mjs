// The console as a person uses it.
import assert from "node:assert/strict";

/** Opens the console in a window of its own. `complaints` and `requests` are those of the window. Who `typesEarly` is in the first field before anything is drawn. */
export async function openConsole(browser, edge, { typesEarly = false, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, ...options });
  const page = await context.newPage();
  const [complaints, requests] = [[], []];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => requests.push(request.url()));
  if (typesEarly) await page.addInitScript(() => addEventListener("DOMContentLoaded", () => document.getElementById("secret")?.focus()));
  const response = await page.goto(`${edge.origin}/console`);
  assert.equal(response.status(), 200);
  return { context, page, complaints, requests, origin: edge.origin, close: () => context.close() };
}

/** Signs in, and waits for the first view. */
export async function signIn(page, secret) {
  await page.getByLabel("API key, or the admin secret").fill(secret);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator("#view h2").waitFor();
}

/** Goes to a view by the menu. */
export async function follow(page, name) {
  await page.locator("#menu").getByRole("link", { name, exact: true }).click();
  await page.locator("#view").getByRole("heading", { name, exact: true, level: 2 }).waitFor();
}

/** Presses a button of the view, and answers its question with yes. */
export async function press(page, name) {
  await page.locator("#view").getByRole("button", { name, exact: true }).first().click();
  await page.locator("#ask").getByRole("button", { name: "Yes" }).click();
}

/** Presses Tab until what has the focus begins with this name. */
export async function reach(page, name) {
  for (let presses = 0; presses < 80; presses += 1) {
    await page.keyboard.press("Tab");
    const reached = await page.evaluate(() => document.activeElement.labels?.[0]?.innerText ?? document.activeElement.innerText ?? "");
    if (reached.trim().startsWith(name)) return;
  }
  assert.fail(`Tab does not reach ${name}`);
}

/** Goes to a view by its address. */
export async function goTo(page, path) {
  const shown = page.waitForResponse((response) => response.url().endsWith(`/console${path}`));
  await page.evaluate((hash) => { location.hash = hash; }, path);
  assert.equal((await shown).status(), 200, path);
  await page.locator("#view[aria-busy=false]").waitFor();
}

/** Reads the key that is shown once, and waits until the change is over. */
export async function takeKey(page) {
  await page.locator("#reveal[open]").waitFor();
  const key = await page.locator("#reveal code").innerText();
  await page.locator("#reveal").getByRole("button", { name: "Done" }).click();
  await page.getByText("Done.", { exact: true }).waitFor();
  return key;
}

/** Sends a request to the API. Returns the JSON of its response. */
export async function callApi(edge, key, method, path, body) {
  const headers = { "x-api-key": key, "content-type": "application/json" };
  const response = await fetch(edge.origin + path, { method, headers, body: body && JSON.stringify(body) });
  assert.ok(response.ok, `${method} ${path}: ${response.status}`);
  return response.json();
}

/** Checks that a window complained of nothing, but of problems of the API if `refused`, and sent nothing elsewhere, and closes it. */
export async function assertQuiet({ complaints, requests, origin, close }, refused = false) {
  await close();
  assert.deepEqual(complaints.filter((text) => !refused || !text.startsWith("Failed to load resource")), []);
  assert.deepEqual(requests.filter((url) => !url.startsWith(origin)), []);
}
