// An origin that responds to each call of a tool at once, as a proxy does.
import { createHmac } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import { SECRETS } from "./worker.mjs";

/** Bytes of a grant before its MAC (shared/src/grant.rs). */
const SIGNED_PART_OF_GRANT = 56;

/** The proof that a proxy which holds the secret sends with a response (shared/src/proof.rs). */
function proofFor(grant) {
  const signed = Buffer.from(grant, "base64url").subarray(0, SIGNED_PART_OF_GRANT);
  const mac = createHmac("sha256", SECRETS.GRANT_SECRET).update("utg.grant.v1").update(signed).update("default").digest();
  return mac.subarray(16).toString("base64url");
}

export async function startOrigin() {
  const server = http.createServer((request, response) => {
    request.resume();
    const grant = request.headers["x-gateway-grant"];
    const proof = grant ? { "x-gateway-proof": proofFor(grant) } : {};
    response.writeHead(200, { "content-type": "application/json", ...proof });
    response.end('{"ok":true}');
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}
