// Stands before a worker whose wasm counts the functions that it calls (tests/bench/imports.mjs). `/bench/imports` shows how often
// each was called since the last time.
import Worker from "./main.js";

export * from "./main.js";

export default {
  fetch(request, env, ctx) {
    if (new URL(request.url).pathname !== "/bench/imports") return Worker.fetch(request, env, ctx);
    const called = globalThis.calledImports;
    globalThis.calledImports = {};
    return Response.json(called);
  },
};
