// Imports both descriptions as Postman, Bruno and Insomnia do: `node import.mjs FOLDER`, which has gateway.json and biolink.json
// (scripts/clients.sh). Writes one list of requests for each of them, in one shape.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { openApiToBruno } from "@usebruno/converters";
import insomnia from "insomnia-importers";
import postman from "openapi-to-postmanv2";

const descriptions = path.resolve(process.argv[2]);
const generated = path.join(import.meta.dirname, "generated");

/** Returns the requests of a tree of folders, each with the names of its folders. */
function requestsOf(items, isFolder, children, folders = []) {
  return items.flatMap((item) => (isFolder(item) ? requestsOf(children(item), isFolder, children, [...folders, item.name]) : [{ ...item, folders }]));
}

const importers = {
  // What its app does with the folders by tags: it shows examples unless it is told to make up values from the schemas.
  async postman(text) {
    const options = { folderStrategy: "Tags", parametersResolution: "Example" };
    const converted = await new Promise((resolve, reject) =>
      postman.convertV2({ type: "string", data: text }, options, (error, result) => (error ? reject(error) : resolve(result))),
    );
    if (!converted.result) throw new Error(converted.reason);
    const requests = requestsOf(converted.output[0].data.item, ({ item }) => item, ({ item }) => item);
    return requests.map(({ folders, request: { method, url, auth, body, header } }) => ({
      folders,
      method,
      path: `/${url.path.join("/")}`.replaceAll(/:(\w+)/g, "{$1}"),
      auth: auth?.type === "apikey" ? auth.apikey.find(({ key }) => key === "key").value : (auth?.type ?? null),
      body: header?.some(({ key, value }) => key === "Content-Type" && value === "application/json") ? body.raw : null,
      parameters: [...(url.query ?? []), ...(url.variable ?? [])].map(({ key, value }) => [key, value]),
    }));
  },

  async bruno(text) {
    const { items } = await openApiToBruno(JSON.parse(text));
    const requests = requestsOf(items, ({ type }) => type === "folder", ({ items: inside }) => inside);
    return requests.map(({ folders, request: { method, url, auth, body, params } }) => ({
      folders,
      method,
      path: url.replace("{{baseUrl}}", "").replaceAll(/:(\w+)/g, "{$1}"),
      auth: auth.mode === "apikey" ? auth.apikey.key : auth.mode === "inherit" ? null : auth.mode,
      body: body.json,
      parameters: params.filter(({ enabled }) => enabled).map(({ name, value }) => [name, value]),
    }));
  },

  async insomnia(text) {
    const { data } = await insomnia.convert(text);
    const names = new Map(data.resources.map(({ _id, name }) => [_id, name]));
    return data.resources
      .filter(({ _type }) => _type === "request")
      .map(({ parentId, method, url, authentication, body, headers, parameters }) => ({
        folders: [names.get(parentId)],
        method,
        path: url.replace("{{ base_url }}", "").replaceAll(/\{\{ (\w+) \}\}/g, "{$1}"),
        auth: headers.find(({ value }) => value === "{{ xApiKey }}")?.name ?? authentication.type ?? null,
        body: body.mimeType === "application/json" ? body.text : null,
        parameters: parameters.filter(({ disabled }) => !disabled).map(({ name, value }) => [name, value]),
      }));
  },
};

mkdirSync(generated, { recursive: true });
for (const [importer, convert] of Object.entries(importers)) {
  for (const name of ["gateway", "biolink"]) {
    const requests = await convert(readFileSync(path.join(descriptions, `${name}.json`), "utf8"));
    writeFileSync(path.join(generated, `${importer}-${name}.json`), JSON.stringify(requests));
  }
}
