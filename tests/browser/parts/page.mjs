// A page of the edge in a browser, with what it complained of.
import assert from "node:assert/strict";

/** Opens the page at an address. Returns it with all that it complained of and all that it asked for. */
export async function openPage(browser, address, options = {}, load = {}) {
  const page = await browser.newPage(options);
  const complaints = [];
  const requests = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => requests.push(request.url()));
  const response = await page.goto(address, load);
  assert.equal(response.status(), 200, address);
  return { page, complaints, requests };
}
