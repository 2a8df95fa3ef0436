/** The text with which a link begins a message, as a part of its address: `mailto:`, `sms:` and WhatsApp. */
import type { Link } from "./api";

/** The texts of each type: the name of its parameter, and what a person calls it. */
export const MESSAGES: Partial<Record<Link["type"], readonly (readonly [name: string, label: string])[]>> = {
  email: [
    ["subject", "Subject"],
    ["body", "Text of the message"],
  ],
  sms: [["body", "Text of the message"]],
  whatsapp: [["text", "Text of the message"]],
};

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns the address without its texts, and the texts by their names. */
export function split(url: string): { address: string; texts: Record<string, string> } {
  const [address = "", parameters = ""] = url.split(/\?(.*)/s);
  const pairs = parameters.split("&").filter(Boolean);
  const texts = pairs.map((pair) => {
    const [name = "", value = ""] = pair.split(/=(.*)/s);
    return [name.toLowerCase(), decoded(value).replace(/\r\n/g, "\n")] as const;
  });
  return { address, texts: Object.fromEntries(texts) };
}

/** Returns the address with texts; empty ones are left out. */
export function join(address: string, texts: Record<string, string>): string {
  const pairs = Object.entries(texts).filter(([, text]) => text);
  const written = pairs.map(([name, text]) => `${name}=${encodeURIComponent(text)}`);
  return address + (written.length ? `?${written.join("&")}` : "");
}
