// lease.js with our grants: each call is signed for key, tier, request, target and moment, and its response must prove that
// it comes from a proxy that holds the secret (shared/src/grant.rs, shared/src/proof.rs).
import { gateway, hmacKey, send } from "./gateway.js";
import { admit, describe } from "./lease.js";

export { Meter } from "./lease.js";

const SIGNED_BYTES = 56;
const BASE64 = { alphabet: "base64url", omitPadding: true };
const DOMAIN = new TextEncoder().encode("utg.grant.v1");
const ORIGIN = new TextEncoder().encode("default");

let grantKey;

/** The grant of a call and the proof that its response must have. */
async function sign(env, url, key) {
  const signed = new Uint8Array(DOMAIN.length + SIGNED_BYTES + ORIGIN.length);
  signed.set(DOMAIN);
  signed.set(ORIGIN, DOMAIN.length + SIGNED_BYTES);
  const fields = signed.subarray(DOMAIN.length, DOMAIN.length + SIGNED_BYTES);
  new TextEncoder().encodeInto(`${key.id.slice(0, 12)}${key.tier[0]}${Date.now()}${url.pathname}`, fields);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", await (grantKey ??= hmacKey(env.GRANT_SECRET)), signed));
  const grant = new Uint8Array(SIGNED_BYTES + 16);
  grant.set(fields);
  grant.set(mac.subarray(0, 16), SIGNED_BYTES);
  return { grant: grant.toBase64(BASE64), proof: mac.subarray(16).toBase64(BASE64) };
}

export async function forward(request, env, url, key, options) {
  const { grant, proof } = await sign(env, url, key);
  const response = await send(request, env, url, (headers) => headers.set("x-gateway-grant", grant), options);
  if (response.headers.get("x-gateway-proof") !== proof) return new Response("the origin is not proven", { status: 503 });
  response.headers.delete("x-gateway-proof");
  return response;
}

export default gateway({ admit, describe, forward });
