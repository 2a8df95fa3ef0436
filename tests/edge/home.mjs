// Brings the workers' requests to some hosts back to the gateway, as Cloudflare does with hosts of its zone. Other requests go out.

const HOME = (hosts) => `
const hosts = ${JSON.stringify(hosts)};
export default {
  fetch: (request, env) => (hosts.includes(new URL(request.url).hostname) ? env.GATEWAY.fetch(request) : fetch(request)),
};
`;

/** The workers, of which the first serves these hosts, and which reach it by them. */
export function withHome(workers, hosts) {
  const [{ name, compatibilityDate }] = workers;
  const home = {
    name: "home",
    modules: [{ type: "ESModule", path: "home.js", contents: HOME(hosts) }],
    compatibilityDate,
    serviceBindings: { GATEWAY: name },
  };
  return [...workers.map((worker) => ({ ...worker, outboundService: home.name })), home];
}
