// The ports of a local run: where each part listens, and whether it can.
import { spawnSync } from "node:child_process";
import { createServer } from "node:net";

export const HOST = "127.0.0.1";
export const TOOL_COUNT = 17;

/** The ports by part; each can be set by an environment variable. Throws on what is not a port. */
export function portsFrom(environment) {
  const port = (variable, usual) => {
    const number = Number(environment[variable] || usual);
    if (!Number.isInteger(number) || number < 1 || number > 65535 - TOOL_COUNT) {
      throw new Error(`${variable}=${environment[variable]} is not a port`);
    }
    return number;
  };
  return {
    edge: port("EDGE_PORT", 8787),
    proxy: port("PROXY_PORT", 8080),
    admin: port("ADMIN_PORT", 9090),
    ...toolsFrom(port("TOOLS_PORT", 9100)),
  };
}

/** The ports of the tools and of their control, from the first one. */
const toolsFrom = (first) => ({ tools: Array.from({ length: TOOL_COUNT }, (_, index) => first + index), control: first + TOOL_COUNT });

/** The same ports, with the next free ones in place of those that are in use. A part without a port stays so. */
export async function freePorts({ edge, proxy, admin, tools }) {
  const taken = new Set();
  const next = async (first, count = 1) => {
    if (first === undefined) return undefined;
    for (let port = first; port + count <= 65536; port += 1) {
      const range = Array.from({ length: count }, (_, index) => port + index);
      const free = await Promise.all(range.map(async (each) => !taken.has(each) && (await isFree(each))));
      if (!free.every(Boolean)) continue;
      range.forEach((each) => taken.add(each));
      return port;
    }
    throw new Error(`no free port from ${first} on`);
  };
  const ports = { edge: await next(edge), proxy: await next(proxy), admin: await next(admin) };
  return { ...ports, ...toolsFrom(await next(tools[0], TOOL_COUNT + 1)) };
}

/**
 * What keeps these ports from being used, in words, at most one fault for each variable; empty if nothing does. A part
 * without a port is not looked at.
 */
export async function portFaults(ports) {
  const wanted = [
    ["the edge", "EDGE_PORT", ports.edge],
    ["the proxy", "PROXY_PORT", ports.proxy],
    ["the proxy's admin server", "ADMIN_PORT", ports.admin],
    ...ports.tools.map((port) => ["a demo tool", "TOOLS_PORT", port]),
    ["the demo tools' control", "TOOLS_PORT", ports.control],
  ];
  const seen = new Map();
  const faults = new Map();
  for (const [part, variable, port] of wanted) {
    if (port === undefined || faults.has(variable)) continue;
    if (seen.has(port)) faults.set(variable, `port ${port} is meant for both ${seen.get(port)} and ${part}: set ${variable}`);
    else if (!(await isFree(port))) {
      faults.set(variable, `port ${port}, for ${part}, is in use${holder(port)}: end that, or set ${variable}`);
    }
    seen.set(port, part);
  }
  return [...faults.values()];
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: HOST, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** Who listens there, where the system can tell. */
function holder(port) {
  const listing = spawnSync("ss", ["-Hltnp", `sport = :${port}`], { encoding: "utf8" }).stdout ?? "";
  const [, name, pid] = listing.match(/\(\("([^"]+)",pid=(\d+)/) ?? [];
  return pid ? ` by ${name} (pid ${pid})` : "";
}
