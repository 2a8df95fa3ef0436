// Brings the worker's requests to some hosts back to it, as Cloudflare does with hosts of its zone. Other requests go out.

const HOME = (hosts) => `
const hosts = ${JSON.stringify(hosts)};
export default {
  fetch: (request, env) => (hosts.includes(new URL(request.url).hostname) ? env.EDGE.fetch(request) : fetch(request)),
};
`;

/** The options of a Miniflare whose one worker serves these hosts, and reaches itself by them. */
export function withHome({ host, port, cf, ...edge }, hosts) {
  const home = {
    name: "home",
    modules: [{ type: "ESModule", path: "home.js", contents: HOME(hosts) }],
    compatibilityDate: edge.compatibilityDate,
    serviceBindings: { EDGE: edge.name },
  };
  return { host, port, cf, workers: [{ ...edge, outboundService: home.name }, home] };
}
