// Generates a client with each generator of npm from both descriptions: `node generate.mjs FOLDER`, which has gateway.json and
// biolink.json (scripts/clients.sh).
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { createClient as heyApi } from "@hey-api/openapi-ts";
import openapiTypescript, { astToString } from "openapi-typescript";
import { generate as orval } from "orval";
import { generateApi as swaggerTypescriptApi } from "swagger-typescript-api";

const descriptions = path.resolve(process.argv[2]);
const generated = path.join(import.meta.dirname, "generated");
/** An error beside a success is a problem, so the bytes are the only other body that orval may read. */
const READ_BY_ORVAL = ["application/json", "application/octet-stream", "application/problem+json", "application/x-ndjson"];

const generators = {
  "hey-api": (input, name, folder) =>
    heyApi({ input, output: path.join(folder, name), logs: { level: "error" }, plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"] }),
  "openapi-typescript": async (input, name, folder) =>
    writeFileSync(path.join(folder, `${name}.d.ts`), astToString(await openapiTypescript(pathToFileURL(input)))),
  orval: (input, name, folder) =>
    orval({
      input: { target: input },
      output: { target: path.join(folder, `${name}.ts`), client: "axios-functions", override: { contentType: { include: READ_BY_ORVAL } } },
    }),
  "swagger-typescript-api": (input, name, output) => swaggerTypescriptApi({ input, output, fileName: `${name}.ts`, silent: true }),
};

for (const [generator, generate] of Object.entries(generators)) {
  const folder = path.join(generated, generator);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const name of ["gateway", "biolink"]) await generate(path.join(descriptions, `${name}.json`), name, folder);
}
