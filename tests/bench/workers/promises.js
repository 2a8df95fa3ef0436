// grant.js with what our worker promises besides: a body that is received whole within a minute before it is sent, no cache
// that keeps a response, and calls that a client which hangs up does not strand.
import { gateway } from "./gateway.js";
import { forward as call } from "./grant.js";
import { admit, describe } from "./lease.js";

export { Meter } from "./lease.js";

const BODY_TIMEOUT_MS = 60_000;
const NO_STORE = { cache: "no-store" };

function receive(request) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the body is late")), BODY_TIMEOUT_MS);
    const settle = (then) => (value) => {
      clearTimeout(timer);
      then(value);
    };
    request.arrayBuffer().then(settle(resolve), settle(reject));
  });
}

async function forward(request, env, url, key) {
  return call(request, env, url, key, request.method === "POST" ? { body: await receive(request) } : NO_STORE);
}

const { fetch } = gateway({ admit, describe, forward });

export default {
  fetch(request, env, ctx) {
    const response = fetch(request, env, ctx);
    ctx.waitUntil(response);
    return response;
  },
};
