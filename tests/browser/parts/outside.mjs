// A server outside of the gateway: a receiver of webhooks, a shop, or a tool, which responds by path as a test says.
import { once } from "node:events";
import { createServer } from "node:http";

/** Starts it. `responses` are by path: status, media type and body. `*` is that of any other path. */
export async function startOutside(responses) {
  const server = createServer((request, response) => {
    const [status, type, body] = responses[request.url.split("?")[0]] ?? responses["*"] ?? [404, "text/plain", ""];
    request.resume().on("end", () => response.writeHead(status, { "content-type": type }).end(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  return { address: `127.0.0.1:${port}`, origin: `http://127.0.0.1:${port}`, end: () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); }) };
}
