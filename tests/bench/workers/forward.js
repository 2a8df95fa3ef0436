// A worker that only forwards.
export default {
  fetch(request, env) {
    const { pathname, search } = new URL(request.url);
    if (pathname === "/healthz") return new Response("ok");
    return fetch(env.ORIGIN_URLS + pathname + search, { method: request.method, headers: request.headers, body: request.body });
  },
};
