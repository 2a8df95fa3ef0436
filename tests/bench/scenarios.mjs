// The calls that are measured. The workers differ in how they issue keys, and only ours has pages.
import { SECRETS } from "./worker.mjs";

const TOOL = "/v1/qr/x";
const FORWARDS_ONLY = /^forward/;
/** Visitors of the page. One sends at most 60 events a minute that count. */
const VISITORS = 5000;
const MINUTE = 500_000;
const BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36";

const holder = { email: "bench@example.com", name: "Bench", admin_secret: SECRETS.ADMIN_SECRET };

/** Issues a key. Returns the headers that call with it. */
export async function issue(client, properties) {
  const { key, id } = await client.json("POST", "/v1/keys/issue", {}, { ...holder, ...properties });
  return { id, headers: { "x-api-key": key } };
}

/** A valid key's text with another signature. */
function forged(key) {
  const end = key.slice(-8).split("").reverse().join("");
  return key.slice(0, -8) + (end === key.slice(-8) ? `A${end.slice(1)}` : end);
}

/** The calls by name. As many keys read their usage in turn: one may do so 1,000 times a minute. */
export async function prepare({ name, hasPages }, client, readers = 1) {
  const json = { "content-type": "application/json" };
  const body = JSON.stringify({ text: "x".repeat(1000) });
  if (FORWARDS_ONLY.test(name)) {
    const headers = { "x-api-key": "unused" };
    return { "GET": { expected: 200, path: TOOL, headers }, "POST 1 KiB": { expected: 200, method: "POST", path: TOOL, headers: { ...headers, ...json }, body } };
  }
  const { headers } = await issue(client, { tier: "enterprise", limits: { minute: MINUTE }, biolink_plan: "business" });
  const free = await issue(client, { tier: "free", limits: { minute: MINUTE, day: 1e9 } });
  const spent = await issue(client, { tier: "free", limits: { day: 1 } });
  const reading = [free];
  while (reading.length < readers) reading.push(await issue(client, { tier: "free" }));
  let reads = 0;
  for (let call = 0; call < 2; call += 1) await client.send({ path: TOOL, headers: spent.headers });
  return {
    "GET": { expected: 200, path: TOOL, headers },
    "POST 1 KiB": { expected: 200, method: "POST", path: TOOL, headers: { ...headers, ...json }, body },
    "GET that asks the object": { expected: 200, path: TOOL, headers: free.headers },
    "401, no key": { expected: 401, path: TOOL },
    "401, forged key": { expected: 401, path: TOOL, headers: { "x-api-key": forged(headers["x-api-key"]) } },
    "429, over the limit": { expected: 429, path: TOOL, headers: spent.headers },
    "keys/me": { expected: 200, path: "/v1/keys/me", visit: () => ({ path: "/v1/keys/me", headers: reading[reads++ % readers].headers }) },
    ...(hasPages ? await visits(client, headers) : {}),
  };
}

/** Visits of a published page. */
async function visits(client, headers) {
  const links = [{ title: "Shop", url: "https://example.com/shop" }];
  const page = await client.json("POST", "/pages", headers, { title: "Bench", slug: "bench", status: "published", links });
  const visit = (expected, path) => {
    let visitor = 0;
    const next = () => {
      visitor = (visitor + 1) % VISITORS;
      return { path, headers: { "user-agent": BROWSER, "cf-connecting-ip": `10.0.${visitor >> 8}.${visitor & 255}` } };
    };
    return { expected, path, visit: next };
  };
  return { page: visit(200, "/bench"), redirect: visit(302, `/bench/l/${page.links[0].id}`) };
}
