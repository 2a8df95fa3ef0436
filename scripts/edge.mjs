// Runs the built Workers in one workerd, with the bindings of wrangler.toml and wrangler.pages.toml: `node scripts/edge.mjs
// [options]`. The gateway gets every request, and hands over what the Worker of pages serves. That one gets those for PAGES_HOST.
//   --port N         0 takes a free one; default EDGE_PORT or 8787
//   --host H         default 127.0.0.1
//   --state DIR      where KV, Durable Objects and queues live; `memory` keeps nothing; default .data/edge
//   --worker DIR     the built Workers with their assets; default edge-worker/build
//   --env NAME       the bindings and variables of [env.NAME], as a deployment has them; default the top level
//   --origin URLS    ORIGIN_URLS, separated by commas; default the local proxy, PROXY_PORT or 8080
//   --var NAME=VALUE another variable of both, repeatable; never a secret: those come from .dev.vars,
//                    or from the environment if a variable of the same name is set there
//   --without NAME   for tests: both lack this binding, repeatable; without PAGES_WORKER the gateway runs alone
//   --origin-cert FILE, --origin-key FILE, --origin-ca FILE
//                    the binding ORIGIN_CERT: a client certificate for origins with its key, and the authority of the
//                    origins' own certificates, all in PEM
//   --counters PORT  counts paid operations, responses and requests to origins, and serves the counts as JSON at this
//                    port; 0 takes a free one; default EDGE_COUNTERS_PORT, or none
//   --faults URL     for tests: the server at URL says what becomes of each use of a binding (tests/edge/faults.mjs)
//   --home HOST      for tests, with --faults: what a Worker sends to this host comes back to the gateway, repeatable
//   --account-store FILE
//                    for tests: one account's store as an earlier version left it, in SQL
// Prints `edge listening on http://host:port` once it answers, and before it `edge counters on …`. SIGTERM and SIGINT end it.
import { startEdge } from "./edge/start.mjs";

const { edge, listening } = await startEdge(process.argv.slice(2), console);
let ending = false;
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, async () => {
    if (ending) return;
    ending = true;
    await edge.dispose();
    process.exit(0);
  });
}
await listening;
