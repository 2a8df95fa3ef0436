import { createHmac, timingSafeEqual } from "node:crypto";

/** `headers` is a Headers object, `body` the text as it came. */
export function isSigned(secret, headers, body) {
  const [id, timestamp] = [headers.get("webhook-id"), headers.get("webhook-timestamp")];
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) < 300)) return false;
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const mac = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest();
  return headers.get("webhook-signature").split(" ").some((signature) => {
    const sent = Buffer.from(signature.replace(/^v1,/, ""), "base64");
    return sent.length === mac.length && timingSafeEqual(sent, mac);
  });
}
