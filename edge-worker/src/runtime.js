// The runtime's API as the worker uses it for each request: one call from wasm does what would be many, because each
// crossing between wasm and the runtime costs more than the work behind it.
// Lines are `name\nvalue\nname\nvalue`: neither can contain a line break.

/** A placeholder: objects and assets have no address of their own, and the runtime requires a URL. */
const OBJECT_URL = "https://object/";
const ASSETS_URL = "https://assets/";

/** The wasm instance's function for settled promises and timers. A new instance sets its own. */
let settle;

export function setSettle(callback) {
  settle = (slot, isFulfilled, value) => {
    try {
      callback(slot, isFulfilled, value);
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

/**
 * Sends a request to an origin with the client's headers, less `dropped` and with `set`. Without a signal, the wait for the
 * response ends after a time.
 */
export async function callOrigin(fetcher, url, method, client, dropped, set, body, signal, timeoutMs) {
  const headers = new Headers(client.headers);
  if (dropped) for (const name of dropped.split("\n")) headers.delete(name);
  setLines(headers, set);
  // A response belongs to one key: no cache may serve it to another.
  const init = { method, headers, body, redirect: "manual", cache: "no-store", signal: signal ?? AbortSignal.timeout(timeoutMs) };
  return fetcher ? fetcher.fetch(url, init) : fetch(url, init);
}

/** The header lines of a message. */
export function headerLines({ headers }) {
  let lines = "";
  // Half the time of an iterator.
  headers.forEach((value, name) => {
    lines += `${name}\n${value}\n`;
  });
  return lines;
}

/** Builds a request that this worker handles itself. */
export function ownRequest(url, method, lines, body) {
  const request = new Request(url, { method, body });
  setLines(request.headers, lines);
  return request;
}

/** Builds a response of our own. */
export function respond(status, lines, timing, body) {
  const response = new Response(body, { status });
  setLines(response.headers, lines);
  response.headers.append("server-timing", timing);
  return response;
}

/** Builds the client's response from an origin's, without the headers `dropped`. */
export function relay(response, dropped, lines, timing) {
  const relayed = new Response(response.body, response);
  if (dropped) for (const name of dropped.split("\n")) relayed.headers.delete(name);
  setLines(relayed.headers, lines);
  relayed.headers.append("server-timing", timing);
  return relayed;
}

function setLines(headers, lines) {
  const parts = lines.split("\n");
  for (let at = 0; at + 1 < parts.length; at += 2) headers.set(parts[at], parts[at + 1]);
}
