// The KV and the queue of the benchmark's workers: what workerd asks of the services behind such bindings.
// KV counts the reads of each key: the key `reads` shows them.
const values = new Map();
const reads = {};

export default {
  async fetch(request) {
    const key = decodeURIComponent(new URL(request.url).pathname.slice(1));
    if (request.method === "PUT") {
      values.set(key, await request.text());
      return new Response(null);
    }
    // A message of the queue.
    if (request.method === "POST") return Response.json({ metadata: { metrics: { backlogCount: 0, backlogBytes: 0, oldestMessageTimestamp: 0 } } });
    if (key === "reads") return Response.json(reads);
    reads[key] = (reads[key] ?? 0) + 1;
    return values.has(key) ? new Response(values.get(key)) : new Response(null, { status: 404 });
  },
};
