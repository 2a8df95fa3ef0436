// What the two JavaScript gateways of the benchmark share, written as one would for speed: keys that WebCrypto verifies,
// forwarding, problems, and the log. A key is `id.tier.mac`.
const LOG_SAMPLE = 0.05;
const RESPONSE_TIMEOUT_MS = 30_000;
const PRIVATE = ["x-api-key", "cookie", "cf-connecting-ip", "x-forwarded-for", "x-real-ip"];

let signingKey;
const encoder = new TextEncoder();

/** A key of WebCrypto for HMAC-SHA-256. */
export function hmacKey(secret) {
  return crypto.subtle.importKey("raw", encoder.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

function importKey(env) {
  signingKey ??= hmacKey(env.KEY_SIGNING_SECRET);
  return signingKey;
}

/** The key of a request, or null if it has none that was issued here. */
async function authenticate(request, env) {
  const parts = request.headers.get("x-api-key")?.split(".");
  if (parts?.length !== 3) return null;
  const [id, tier, mac] = parts;
  let bytes;
  try {
    bytes = Uint8Array.fromBase64(mac, { alphabet: "base64url" });
  } catch {
    return null;
  }
  const isValid = await crypto.subtle.verify("HMAC", await importKey(env), bytes, encoder.encode(`${id}.${tier}`));
  return isValid ? { id, tier } : null;
}

async function issue(request, env) {
  const { tier, limits } = await request.json();
  const id = crypto.randomUUID();
  const mac = await crypto.subtle.sign("HMAC", await importKey(env), encoder.encode(`${id}.${tier}`));
  await env.KEYS.put(`key:${id}`, JSON.stringify({ id, tier, limits }));
  return Response.json({ id, key: `${id}.${tier}.${new Uint8Array(mac).toBase64({ alphabet: "base64url", omitPadding: true })}` });
}

/** Sends a message to the object of a key. */
export async function ask(env, id, message) {
  const response = await env.METER.getByName(id).fetch("https://object/", { method: "POST", body: JSON.stringify(message) });
  return response.json();
}

export function problem(status, code) {
  const body = JSON.stringify({ type: `/problems/${code}`, title: code, status, code });
  return new Response(body, { status, headers: { "content-type": "application/problem+json" } });
}

/** Forwards with a secret that the origin knows. */
function forward(request, env, url) {
  return send(request, env, url, (headers) => headers.set("authorization", env.GRANT_SECRET));
}

/** Sends a call to the origin, without what is private, with what `prepare` sets, and with other options. */
export async function send(request, env, url, prepare, options) {
  const headers = new Headers(request.headers);
  for (const name of PRIVATE) headers.delete(name);
  prepare(headers);
  const init = { method: request.method, headers, body: request.body, redirect: "manual", signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS), ...options };
  const response = await fetch(env.ORIGIN_URLS + url.pathname + url.search, init);
  return new Response(response.body, response);
}

function setQuota(headers, quota) {
  if (!quota) return;
  headers.set("x-ratelimit-limit", quota.limit);
  headers.set("x-ratelimit-remaining", quota.remaining);
  headers.set("x-ratelimit-reset", quota.reset);
}

/**
 * A gateway. `forward` calls the origin. `admit` decides on a call of a key: `{ allowed, quota }`. `describe` returns the state of a key.
 * Both get the execution context for work in the background.
 */
export const gateway = ({ admit, describe, forward: call = forward }) => ({
  async fetch(request, env, ctx) {
    const started = Date.now();
    const id = crypto.randomUUID();
    const url = new URL(request.url);
    const response = await respond(request, env, ctx, url);
    response.headers.set("access-control-allow-origin", "*");
    response.headers.set("access-control-expose-headers", "*");
    response.headers.set("x-request-id", id);
    response.headers.append("server-timing", `edge;dur=${Date.now() - started}`);
    if (response.status >= 400 || Math.random() < LOG_SAMPLE) {
      console.log(JSON.stringify({ time: new Date(started), request_id: id, method: request.method, route: url.pathname, status: response.status, duration_ms: Date.now() - started }));
    }
    return response;

    async function respond() {
      if (url.pathname === "/healthz") return new Response("ok");
      if (url.pathname === "/v1/keys/issue") return issue(request, env);
      const key = await authenticate(request, env);
      if (!key) return problem(401, "key-invalid");
      if (url.pathname === "/v1/keys/me") return Response.json(await describe(key, env, ctx));
      const { allowed, quota } = await admit(key, env, ctx);
      const answer = allowed ? await call(request, env, url, key) : problem(429, "quota-exceeded");
      setQuota(answer.headers, quota);
      return answer;
    }
  },
});
