/** The APIs, with clients that are generated from their descriptions. */
import createClient from "openapi-fetch";
import type { components as BiolinkParts, paths as BiolinkPaths } from "../api/biolink";
import type { components as GatewayParts, paths as GatewayPaths } from "../api/gateway";
import { Problem } from "./problem";
import { session } from "./session.svelte";

type Biolink = BiolinkParts["schemas"];
type Gateway = GatewayParts["schemas"];
export type Page = Biolink["Page"];
export type PageInput = Biolink["PageInput"];
export type PageSummary = Biolink["PageSummary"];
export type PageDocument = Biolink["Revision"]["document"];
export type Link = Biolink["Link"];
export type Product = Biolink["Product"];
export type Analytics = Biolink["Analytics"];
export type Domain = Biolink["Domain"];
export type Image = Biolink["Image"];
export type Source = Biolink["ProductSource"];
export type Webhook = Biolink["Webhook"];
export type Delivery = Biolink["WebhookDelivery"];
export type Account = Biolink["Account"];
export type OwnKey = Gateway["OwnKey"];
export type Key = Gateway["Key"];
export type KeyDetails = Gateway["KeyDetails"];
export type Secret = Gateway["Secret"];
export type Scopes = Gateway["Scopes"];
export type LoggedCall = Gateway["LoggedCall"];
export type Alert = Gateway["Alert"];

/** Sends a request as who is signed in. What a cookie is not enough for is sent again with the key that the holder types. */
async function send(request: Request): Promise<Response> {
  const again = request.clone();
  const response = await signed(request);
  if (response.status !== 401 && response.status !== 403) return response;
  const refusal = await problemIn(response.clone());
  if (refusal.code === "sign-in-required") {
    const key = await session.askForKey();
    if (key !== null) return signed(again, key);
  } else if (response.status === 401 && session.role !== null) {
    session.forget();
  }
  return response;
}

function signed(request: Request, credential?: string): Promise<Response> {
  const header = session.header(credential);
  if (header) request.headers.set(...header);
  return fetch(request);
}

const options = {
  baseUrl: location.origin,
  credentials: "same-origin" as const,
  redirect: "error" as const,
  fetch: send,
};
export const gateway = createClient<GatewayPaths>(options);
export const biolink = createClient<BiolinkPaths>(options);

/** Returns the JSON that a call responds with. Throws a problem. */
export async function take<T>(
  call: Promise<{ data?: T; error?: unknown; response: Response }>,
): Promise<Exclude<T, string>> {
  return (await takeWithEtag(call)).value;
}

/** The same, with the ETag. */
export async function takeWithEtag<T>(
  call: Promise<{ data?: T; error?: unknown; response: Response }>,
): Promise<{ value: Exclude<T, string>; etag: string }> {
  const { data, error, response } = await call;
  const etag = response.headers.get("etag") ?? "";
  if (!response.ok) throw new Problem((error ?? {}) as Partial<Problem>, etag);
  return { value: data as Exclude<T, string>, etag };
}

async function problemIn(response: Response): Promise<Problem> {
  try {
    return new Problem((await response.json()) as Partial<Problem>, response.headers.get("etag") ?? "");
  } catch {
    return new Problem({ status: response.status, title: `Status ${response.status}` });
  }
}

/** Sends a request whose body or response is not JSON. */
export async function raw(method: string, path: string, body?: BodyInit, type?: string): Promise<Response> {
  const headers = new Headers({ accept: "application/json, */*" });
  if (type) headers.set("content-type", type);
  const request = new Request(new URL(path, location.origin), {
    method,
    headers,
    body,
    credentials: "same-origin",
    redirect: "error",
  });
  const response = await send(request);
  if (!response.ok) throw await problemIn(response);
  return response;
}

/** Stores an image of the account. */
export async function upload(file: Blob): Promise<Image> {
  return (await (await raw("POST", "/images", file, file.type)).json()) as Image;
}

/** Returns a page as visitors would see it, as HTML. Nothing is stored. */
export async function preview(page: PageInput): Promise<string> {
  return (await raw("POST", "/console/preview", JSON.stringify(page), "application/json")).text();
}

/** Signs in. Returns the role of what was typed. */
export async function signIn(secret: string, isToKeep: boolean): Promise<void> {
  const role = secret.startsWith("utg_") ? "key" : "admin";
  const [name, value] = session.header(secret) ?? ["X-API-Key", secret];
  const own = (path: string, method = "GET") =>
    fetch(path, { method, headers: { [name]: value }, credentials: "same-origin" });
  const response = await own(role === "key" ? "/v1/keys/me" : "/v1/keys?limit=1");
  if (!response.ok) throw await problemIn(response);
  const isKept = isToKeep && role === "key";
  if (isKept) {
    const kept = await own("/console/session", "PUT");
    if (!kept.ok) throw await problemIn(kept);
  }
  session.enter(secret, role, isKept);
}
