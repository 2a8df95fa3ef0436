// Prints the ports of a local run as shell assignments, or says which are in use. With PORTS=free, others take their place.
// `--direct`: without the edge.
import { freePorts, portFaults, portsFrom } from "./ports.mjs";

const { PORTS = "" } = process.env;
try {
  if (!["", "free"].includes(PORTS)) throw new Error(`unknown PORTS=${PORTS}: expected free, or EDGE_PORT, PROXY_PORT, ADMIN_PORT and TOOLS_PORT`);
  const wanted = portsFrom(process.env);
  const used = process.argv.includes("--direct") ? { ...wanted, edge: undefined } : wanted;
  const ports = PORTS === "free" ? await freePorts(used) : used;
  const faults = await portFaults(ports);
  if (faults.length) throw new Error(`${faults.join("\n")}\nPORTS=free takes other ports`);
  const { edge, proxy, admin, tools } = ports;
  for (const [name, port] of Object.entries({ EDGE_PORT: edge, PROXY_PORT: proxy, ADMIN_PORT: admin, TOOLS_PORT: tools[0] })) {
    if (port !== undefined) console.log(`export ${name}=${port}`);
  }
} catch (error) {
  console.error(`error ${error.message}`);
  process.exit(1);
}
