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
  const tools = port("TOOLS_PORT", 9100);
  return {
    edge: port("EDGE_PORT", 8787),
    proxy: port("PROXY_PORT", 8080),
    admin: port("ADMIN_PORT", 9090),
    tools: Array.from({ length: TOOL_COUNT }, (_, index) => tools + index),
    control: tools + TOOL_COUNT,
  };
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
