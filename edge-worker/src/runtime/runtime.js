// The runtime's API as the worker uses it for each request: one call from wasm does what would be many, because each
// crossing between wasm and the runtime costs more than the work behind it.
// Lines are `name\nvalue\nname\nvalue`: neither can contain a line break.

/** A placeholder: objects and assets have no address of their own, and the runtime requires a URL. */
const OBJECT_URL = "https://object/";
const ASSETS_URL = "https://assets/";

/** The wasm instance's functions for settled promises and timers, and for broken streams. A new instance sets its own. */
let settle;
let recordAborted;

export function setSettle(callback) {
  settle = guarded(callback);
}

export function setRecordAborted(callback) {
  recordAborted = guarded(callback);
}

function guarded(callback) {
  return (...args) => {
    try {
      callback(...args);
    } catch (error) {
      // A panic. The entry replaces the instance.
      if (error instanceof WebAssembly.RuntimeError) {
        console.error("Critical", error);
        globalThis.__worker_init_state.criticalError = true;
      }
      throw error;
    }
  };
}

/** Settles a slot once the promise is. An instance that is gone does not hear of its promises. */
export function watch(promise, slot) {
  const callback = settle;
  promise.then(
    (value) => callback(slot, true, value),
    (error) => callback(slot, false, error),
  );
}

/** Settles a slot after a time. Returns the timer. */
export function startTimer(ms, slot) {
  return setTimeout(settle, ms, slot, true);
}

export function stopTimer(timer) {
  clearTimeout(timer);
}

/**
 * Reads the body of a request. Settles a slot with its bytes, or with nothing if they are not there in time. A timer that fires
 * late, because the isolate did not run, waits once more: what came meanwhile is settled after it.
 */
export function receiveBody(request, ms, stallMs, slot) {
  const callback = settle;
  const due = Date.now() + ms;
  const giveUp = () => callback(slot, true);
  const fire = () => {
    if (Date.now() - due > stallMs) timer = setTimeout(giveUp, stallMs);
    else giveUp();
  };
  let timer = setTimeout(fire, ms);
  const end = (isFulfilled) => (value) => {
    clearTimeout(timer);
    callback(slot, isFulfilled, value);
  };
  request.arrayBuffer().then(end(true), end(false));
}

/** Sends a message to the object of this name. Resolves to the text of its response, or to the status of a failure. */
export async function askObject(namespace, name, message) {
  const response = await namespace.getByName(name).fetch(OBJECT_URL, { method: "POST", body: message });
  const text = await response.text();
  return response.status === 200 ? text : response.status;
}

/** Reads a static asset. Resolves to its text, or to the status of a failure. */
export async function readAsset(assets, name) {
  const response = await assets.fetch(ASSETS_URL + name);
  const text = await response.text();
  return response.status === 200 ? text : response.status;
}

/** Opens a static asset whose bytes need not be a text. Resolves to its response, or to the status of a failure. */
export async function openAsset(assets, name) {
  const response = await assets.fetch(ASSETS_URL + name);
  return response.status === 200 ? response : response.status;
}

/** Has another worker respond to a request. The call ends with the client, as its own would. */
export async function handOver(worker, request) {
  return worker.fetch(request, { signal: request.signal });
}

/** Reads a text from a KV namespace: `null` if there is none. */
export async function readText(store, name, cacheTtl) {
  return store.get(name, { type: "text", cacheTtl });
}

/** Writes a text to a KV namespace, for a time in seconds or for ever. */
export async function writeText(store, name, text, expirationTtl) {
  return store.put(name, text, { expirationTtl });
}

/** Deletes a text of a KV namespace, or a file of an R2 bucket. */
export async function deleteText(store, name) {
  return store.delete(name);
}

/** Lists texts of a KV namespace. Resolves to the cursor after them, empty at the end, and the texts in the order of their names. */
export async function listTexts(store, prefix, limit, cursor) {
  const listed = await store.list({ prefix, limit, cursor: cursor || undefined });
  const names = listed.keys.map(({ name }) => name);
  const texts = names.length > 0 ? await store.get(names) : new Map();
  return [listed.list_complete ? "" : listed.cursor, ...names.map((name) => texts.get(name))];
}

/** Reads a file of an R2 bucket. Resolves to a response with it, which is 410 without it if it is hidden, or to `null`. */
export async function readFile(bucket, name, isHead) {
  const file = await (isHead ? bucket.head(name) : bucket.get(name));
  if (!file) return null;
  if (file.customMetadata?.hidden) return new Response(null, { status: 410 });
  return new Response(file.body, { headers: { "content-type": file.httpMetadata.contentType } });
}

export async function writeFile(bucket, name, content, contentType) {
  return bucket.put(name, content, { httpMetadata: { contentType } });
}

/** Hides a file of an R2 bucket, or shows it again. Its metadata can only be written with its content. */
export async function markFile(bucket, name, isHidden) {
  const file = await bucket.get(name);
  const { contentType } = file?.httpMetadata ?? {};
  return file && bucket.put(name, await file.arrayBuffer(), { httpMetadata: { contentType }, customMetadata: isHidden ? { hidden: "yes" } : {} });
}

/** Sends a text to a queue. */
export async function sendText(queue, text) {
  return queue.send(text, { contentType: "text" });
}

/**
 * Sends a request to an origin with the client's headers. `head` has, one a line, URL and method, names and values of three
 * headers to set, and names of those to leave out. Without a controller, the wait for the response ends after a time. The call
 * ends when the client leaves.
 */
export function callOrigin(fetcher, head, client, body, controller, timeoutMs) {
  const parts = head.split("\n");
  const [url, method] = parts;
  const headers = new Headers(client.headers);
  for (let at = 8; at < parts.length; at += 1) headers.delete(parts[at]);
  headers.set(parts[2], parts[3]);
  headers.set(parts[4], parts[5]);
  headers.set(parts[6], parts[7]);
  const ending = controller ?? new AbortController();
  endWith(client.signal, ending);
  const init = { method, headers, body, redirect: "manual", signal: ending.signal };
  // A response belongs to one key: no cache may serve it to another. None serves the response to a POST.
  if (method !== "POST") init.cache = "no-store";
  const sent = fetcher ? fetcher.fetch(url, init) : fetch(url, init);
  if (controller) return sent;
  // Not `AbortSignal.timeout`, which cannot be stopped: it would end an event stream that is read when it fires.
  const timer = setTimeout(() => ending.abort(new DOMException("no response in time", "TimeoutError")), timeoutMs);
  return sent.finally(() => clearTimeout(timer));
}

/** Ends what a controller is of when the client leaves. `AbortSignal.any` takes 10 µs for it, a twentieth of a call. */
function endWith(left, controller) {
  if (left.aborted) controller.abort(left.reason);
  else left.addEventListener("abort", () => controller.abort(left.reason));
}

/**
 * Bytes of an upload of which no tool has any. A proxy holds back 64 KiB of what arrives, with the framing of the runtime's own
 * chunks, of which a write is several. It is half as much here, so that it holds whatever they are.
 */
const HELD_BACK = 32_768;
const CHUNK_FRAMING = 12;
/** What an upload rejects with that broke off before a tool had any of it. The worker knows the text. */
const NOTHING_SENT = "nothing sent";

/** Pipes the body of an upload to a stream, which is left open if the body breaks off. */
export async function pipeBody(source, writable) {
  const reader = source.getReader();
  const writer = writable.getWriter();
  let sent = 0;
  try {
    while (sent < HELD_BACK) {
      const { done, value } = await reader.read();
      if (done) return await writer.close();
      sent += value.length + CHUNK_FRAMING;
      await writer.write(value);
    }
  } catch (error) {
    throw sent < HELD_BACK ? NOTHING_SENT : error;
  }
  reader.releaseLock();
  writer.releaseLock();
  return source.pipeTo(writable, { preventAbort: true });
}

/** Whether the client of a request has left. */
export function hasLeft(request) {
  return request.signal.aborted;
}

/** The header lines of a response, and then its status. */
export function responseLines({ headers, status }) {
  let lines = "";
  // Half the time of an iterator.
  headers.forEach((value, name) => {
    lines += `${name}\n${value}\n`;
  });
  return lines + status;
}

/** Builds a request that this worker handles itself. */
export function ownRequest(url, method, lines, body) {
  const request = new Request(url, { method, body });
  setLines(request.headers, lines.split("\n"), 0);
  return request;
}

/** Builds a response of our own. `lines` has the timing, and headers to set. Its end waits for `drained`, if there is one. */
export function respond(status, lines, body, drained) {
  const response = new Response(drained ? lingering(body, drained) : body, { status });
  const { headers } = response;
  const parts = lines.split("\n");
  setLines(headers, parts, 1);
  headers.append("server-timing", parts[0]);
  return response;
}

/** Bytes as a stream that ends after a promise. The client has them all before, and knows by their length that they are all. */
function lingering(bytes, until) {
  const { readable, writable } = new FixedLengthStream(bytes.length);
  const writer = writable.getWriter();
  // A copy: the memory of wasm is used again. A client that has left needs no end.
  writer.write(bytes.slice()).then(() => until).then(() => writer.close()).catch(() => {});
  return readable;
}

/** Builds the client's response from an origin's. `lines` has the timing, names to leave out with commas, and headers to set. */
export function relay(response, lines) {
  const relayed = new Response(response.body, response);
  const { headers } = relayed;
  const parts = lines.split("\n");
  if (parts[1]) for (const name of parts[1].split(",")) headers.delete(name);
  setLines(headers, parts, 2);
  headers.append("server-timing", parts[0]);
  return relayed;
}

/** Bytes of a line that wait for its end at most. */
const MAX_LINE = 65_536;

/**
 * Returns a response whose event stream ends with `event` if the origin breaks it off. `recordAborted` gets `call` then,
 * unless the client has left.
 */
export function follow(client, response, event, call, ctx) {
  const { readable, writable } = new IdentityTransformStream();
  pumpEvents(client.signal, response.body.getReader(), writable.getWriter(), event, () => recordAborted(call, ctx));
  return new Response(readable, response);
}

async function pumpEvents(left, reader, writer, event, onAborted) {
  // The beginning of a line, and the last bytes that were sent.
  let held = new Uint8Array();
  let tail = "";
  const send = (bytes) => {
    tail = (tail + String.fromCharCode(...bytes.subarray(-4))).slice(-4);
    return writer.write(bytes);
  };
  try {
    for (;;) {
      const read = await reader.read().catch(() => null);
      // The client's leaving has ended the call: the origin did not break it off.
      if (!read && left.aborted) return;
      if (!read) {
        await writer.write(new TextEncoder().encode(endOfEvent(tail) + event));
        onAborted();
        break;
      }
      if (read.done) {
        if (held.length > 0) await send(held);
        break;
      }
      const bytes = joined(held, read.value);
      const lines = Math.max(bytes.lastIndexOf(10), bytes.lastIndexOf(13)) + 1;
      const end = bytes.length - lines > MAX_LINE ? bytes.length : lines;
      held = bytes.subarray(end);
      if (end > 0) await send(bytes.subarray(0, end));
    }
    await writer.close();
  } catch (error) {
    // The client has left.
    await reader.cancel(error).catch(() => {});
  }
}

/** Returns what ends an event that is not complete. Its name keeps it apart from those that are. */
function endOfEvent(tail) {
  if (tail === "" || /(\n\n|\r\r|\r\n\r\n)$/.test(tail)) return "";
  return `${/[\r\n]$/.test(tail) ? "" : "\n"}event: incomplete\n\n`;
}

function joined(first, second) {
  if (first.length === 0) return second;
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

function setLines(headers, parts, first) {
  for (let at = first; at + 1 < parts.length; at += 2) headers.set(parts[at], parts[at + 1]);
}
