// Reads what `cargo test --no-run --message-format=json` says from stdin; prints a line for each test binary:
// package, kind of target (lib, bin, test), its name, the binary, and the folder to run it in, apart by tabs.
import path from "node:path";
import { createInterface } from "node:readline";

for await (const line of createInterface({ input: process.stdin })) {
  if (!line.startsWith("{")) continue;
  const { executable, manifest_path: manifest, profile, reason, target } = JSON.parse(line);
  if (reason !== "compiler-artifact" || !profile.test || !executable) continue;
  const folder = path.dirname(manifest);
  const kind = target.kind.includes("cdylib") ? "lib" : target.kind[0];
  console.log([path.basename(folder), kind, target.name, executable, folder].join("\t"));
}
