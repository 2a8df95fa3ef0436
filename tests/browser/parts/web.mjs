// The web app of the console, as it is built, at the address of an edge: its files are served here, and all else is the edge's.
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import { createServer, request } from "node:http";
import path from "node:path";

const DIST = path.resolve(import.meta.dirname, "../../../portal/web/dist");
const TYPES = { ".css": "text/css", ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".svg": "image/svg+xml", ".txt": "text/plain", ".woff2": "font/woff2" };
/** What the console is held to: nothing but its own files and the service itself, and no text becomes HTML but the preview's. */
export const POLICY = [
  "default-src 'none'", "script-src 'self'", "style-src 'self'", "font-src 'self'", "img-src 'self'", "connect-src 'self'", "frame-src 'self'",
  "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types preview",
].join("; ");
/** Paths below the console that are the edge's. */
const OF_EDGE = /^\/console\/(session|sessions|preview)(\/|$)/;

/** Serves it for the length of a test file. The origin is that of the edge too. */
export async function startWeb(edge) {
  const files = new Map(readdirSync(DIST, { recursive: true }).filter((name) => path.extname(name)).map((name) => [`/console/${name}`, name]));
  const server = createServer((incoming, outgoing) => {
    const { pathname } = new URL(incoming.url, edge.origin);
    const isApp = (pathname === "/console" || pathname.startsWith("/console/")) && !OF_EDGE.test(pathname);
    if (!isApp) return pass(edge.origin, incoming, outgoing);
    const name = files.get(pathname) ?? "index.html";
    const kept = name === "index.html" ? "no-cache" : "public, max-age=31536000, immutable";
    const headers = { "content-type": TYPES[path.extname(name)], "cache-control": kept, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" };
    outgoing.writeHead(200, { ...headers, "content-security-policy": POLICY }).end(readFileSync(path.join(DIST, name)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const end = () => new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
  return { ...edge, origin: `http://127.0.0.1:${server.address().port}`, end };
}

function pass(origin, incoming, outgoing) {
  const passed = request(new URL(incoming.url, origin), { method: incoming.method, headers: incoming.headers }, (response) => {
    outgoing.writeHead(response.statusCode, response.headers);
    response.pipe(outgoing);
  });
  passed.on("error", () => outgoing.destroy());
  incoming.pipe(passed);
}
