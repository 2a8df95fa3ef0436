// The views of the console, and the queries that they take: the reads that the OpenAPI descriptions have. Descriptions and router are
// compared (portal/src/openapi/tests.rs), so a view that is new is among them.
import assert from "node:assert/strict";

const DESCRIPTIONS = ["/openapi.json", "/biolink/openapi.json"];

const resolve = (all, value) => (value?.$ref ? value.$ref.slice(2).split("/").reduce((found, name) => found[name], all) : value);

/** Every read: its path, its parameters, and whom it is for: an administrator (true), the holder of a key (false), or both. */
async function reads(edge) {
  const found = [];
  for (const path of DESCRIPTIONS) {
    const all = await (await fetch(edge.origin + path)).json();
    for (const [address, item] of Object.entries(all.paths)) {
      if (!item.get) continue;
      const parameters = [...(item.parameters ?? []), ...(item.get.parameters ?? [])].map((parameter) => {
        const { schema, ...more } = resolve(all, parameter);
        const own = resolve(all, schema);
        return { ...more, schema: { ...own, items: resolve(all, own?.items) } };
      });
      const [security = {}] = item.get.security ?? all.security ?? [];
      const isFor = [false, true].filter((isOfAdmin) => !Object.keys(security).length || "AdminSecret" in security === isOfAdmin);
      found.push({ address, parameters, isFor });
    }
  }
  return found;
}

/** The addresses of a path: one for each choice of ids. */
function targets(address, parameters, ids) {
  return parameters.filter((parameter) => parameter.in === "path").reduce((paths, { name, example, schema }) => {
    const values = ids[name] ?? [example ?? schema.example ?? schema.enum?.[0] ?? "x"];
    return values.flatMap((value) => paths.map((path) => path.replace(`{${name}}`, encodeURIComponent(value))));
  }, [address]);
}

/** The values of a parameter: all that it names, or an example and the text of somebody. */
function values({ schema, example }, text) {
  const named = schema.enum ?? schema.items?.enum;
  return named ?? [example, text].filter((value) => value !== undefined);
}

/** The queries: no parameter, each value of each one, and each of those with the values of parameters that name three at most, `format` among them. */
function queries(parameters, text) {
  const taken = parameters.filter((parameter) => parameter.in === "query");
  const pairs = (parameter) => values(parameter, text).map((value) => [parameter.name, value]);
  const few = taken.filter(({ schema }) => schema.enum?.length <= 3).flatMap(pairs);
  const singles = taken.flatMap(pairs);
  const both = singles.flatMap((single) => few.filter(([name]) => name !== single[0]).map((other) => [single, other]));
  return ["", ...[...singles.map((single) => [single]), ...both].map((query) => `?${query.map(([name, value]) => `${name}=${encode(value)}`).join("&")}`)];
}

/** As browsers send it. */
const encode = (value) => encodeURIComponent(value).replaceAll("'", "%27");

/**
 * Every view: its path, its queries, and whom it is for. `ids` are values of the parameters in paths.
 * `text` is what somebody may write into a query.
 */
export async function readViews(edge, { key, admin, ids, text }) {
  const views = [];
  for (const { address, parameters, isFor } of await reads(edge)) {
    const headers = isFor.includes(true) ? { authorization: `Bearer ${admin}` } : { "x-api-key": key };
    for (const target of targets(address, parameters, ids)) {
      const response = await fetch(`${edge.origin}/console${target}`, { headers });
      if (response.status === 404 && (await response.json()).code === "route-unknown") continue;
      assert.equal(response.status, 200, `${target}: the test has nothing to show there`);
      views.push({ path: target, isFor, queries: queries(parameters, text) });
    }
  }
  return views;
}
