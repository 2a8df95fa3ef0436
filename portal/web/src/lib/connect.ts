/** Agents of other people's servers that ask for a token (OAuth). */
import { Problem } from "./problem";

/** What an agent asks for. All of it is what the agent says, but for the host that its browser goes back to. */
export interface Asked {
  client: { name: string; site: string | null; redirect_host: string; is_local: boolean };
  scopes: { tools: string[]; biolink: "none" | "read" | "write" | "admin" };
  expires_at: string;
}

export interface Choice {
  name: string;
  scopes: { tools: string[]; biolink: string };
  expires_at: string | null;
}

export const readAsked = (request: string): Promise<Asked> =>
  send<Asked>(`?request=${encodeURIComponent(request)}`);

/** Sends what the holder has decided, with the key. Returns the address of the agent. */
export async function decide(request: string, choice: Choice | null, key: string): Promise<string> {
  const headers = new Headers({ "content-type": "application/json" });
  if (choice) headers.set("X-API-Key", key);
  const body = JSON.stringify(choice ? { request, ...choice } : { request, deny: true });
  const { redirect_to } = await send<{ redirect_to: string }>("", { method: "POST", headers, body });
  // The gateway registers no other address. This page leaves for nothing else, whoever has responded.
  if (!/^https?:\/\//.test(redirect_to))
    throw new Problem({ title: "The agent has no address to go back to" });
  return redirect_to;
}

async function send<T>(query: string, init: RequestInit = {}): Promise<T> {
  const response = await fetch(`/oauth/consent${query}`, { ...init, credentials: "omit", redirect: "error" });
  if (!response.ok) throw new Problem((await response.json()) as Partial<Problem>);
  return (await response.json()) as T;
}
