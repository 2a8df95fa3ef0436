// Receives webhooks: WEBHOOK_SECRET=whsec_… PORT=8790 node receiver.mjs
import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.WEBHOOK_SECRET);
const seen = new Set(); // In production: a unique index in your database.

/** Takes the web's Request, so it also runs in Next.js, Bun, Deno and Workers. */
export async function receive(req) {
  let message;
  try {
    // The signature covers the bytes as they came, so the body is read as text and parsed after that.
    message = webhook.verify(await req.text(), Object.fromEntries(req.headers));
  } catch (error) {
    return new Response(`refused: ${error.message}\n`, { status: 400 });
  }
  for (const event of message.type === "batch" ? message.data.events : [message]) {
    // A single event's id is the `webhook-id`. A retry repeats it.
    if (seen.has(event.id)) continue;
    seen.add(event.id);
    console.log(JSON.stringify(event)); // In production: store it, and work on it after the response.
  }
  return new Response(null, { status: 204 });
}

const server = createServer(async (incoming, outgoing) => {
  if (incoming.method !== "POST") return outgoing.writeHead(405).end();
  const req = new Request(`http://localhost${incoming.url}`, {
    method: "POST", headers: incoming.headers, body: incoming, duplex: "half",
  });
  const response = await receive(req);
  outgoing.writeHead(response.status).end(await response.text());
});
server.listen(Number(process.env.PORT ?? 8790), "127.0.0.1", () => {
  console.error(`listening on http://127.0.0.1:${server.address().port}`);
});
