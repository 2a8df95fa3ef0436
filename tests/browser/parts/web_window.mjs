// A window of the web app, in which somebody is signed in.

/** Opens the app in a window of its own and signs in. The browser stays signed in if `isKept`, and then has no key for what shows a secret. */
export async function openWeb(browser, web, secret, address = "/", { isKept = true, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  const [complaints, requests] = [[], []];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => requests.push(request.url().replace(/^blob:/, "")));
  await page.goto(`${web.origin}/console${address}`);
  await page.getByLabel("API key").fill(secret);
  if (!isKept) await page.getByLabel(/^Keep me/).uncheck();
  await page.getByRole("button", { name: "Sign in" }).click();
  // Not the heading of the sign-in, which is there until the gateway has answered.
  await page.locator("#main h1").waitFor();
  return { context, page, complaints, requests, origin: web.origin, close: () => context.close() };
}
