import type { Fault } from "./problem";

/** What a person reads of a fault, by the field that its pointer names. Numbers in pointers are `*`. The first that matches counts. */
const FIELD_TEXTS: readonly (readonly [field: RegExp, text: string])[] = [
  [
    /^(links|socials|products\/items)\/\*\/url$|targets\/\*\/url$|fallback\/url$/,
    "Enter a whole address, such as https://example.com.",
  ],
  [/^links\/\*\/title$/, "Give this entry a title."],
  [/^links\/\*\/visible_(from|until)$/, "Check these two times: the end comes after the start."],
  [/^links\/\*\/gate/, "An age is between 13 and 25."],
  [/^title$/, "Give the page a title of at most 80 characters."],
  [/^bio$/, "At most 300 characters and 5 lines."],
  [/^slug$/, "Use 3 to 40 letters, digits, dots and hyphens, with a letter or digit at both ends."],
  [/(avatar|cover|image)\/url$|^(avatar|cover)$/, "Upload an image, or enter a whole address of one."],
  [/avatar\/alt$/, "Describe the picture in a few words, for who cannot see it."],
  [/^codes\/\*\/via$/, "Use 2 to 24 letters, digits, hyphens and underscores, once each."],
  [/price\/amount$/, "Enter a price with two decimals, such as 15.00."],
  [/^email$|holder\/email$/, "Enter an e-mail address, such as ada@example.com."],
  [/^host$/, "Enter a domain of yours, such as links.example.com."],
  [/^url$/, "Enter a public address that begins with https://."],
  [/^events$/, "Choose at least one event."],
  [/^name$/, "Give it a name that no other one has."],
  [/^expires_at$/, "Choose a moment in the future."],
  [/^scopes/, "Choose at least one right."],
];

const CONTRAST = /^`(\w+)` has a contrast of ([\d.]+).* needs ([\d.]+)(?:.*nearest.*(#[0-9a-f]{6}))?/i;
/** What a person calls the colors of a page. */
export const COLORS: Record<string, string> = {
  accent: "Accent",
  bg: "Background",
  card: "Links",
  end: "End of the gradient",
  fg: "Text",
};

/** Returns the pointer without its fragment sign, such as `links/1/url`. */
export function pathOf(pointer: string): string {
  return decodeURIComponent(pointer.replace(/^#?\/?/, ""));
}

/** Returns the text for a fault; the API's own for a field that has none. */
export function faultText({ pointer, detail }: Fault): string {
  const [, name, has, needs, better] = CONTRAST.exec(detail) ?? [];
  if (name)
    return `${COLORS[name] ?? name}: too faint to read (contrast ${has} of ${needs}).${better ? ` ${better} works.` : ""}`;
  const path = pathOf(pointer).replace(/(^|\/)\d+(?=\/|$)/g, "$1*");
  const known = FIELD_TEXTS.find(([field]) => field.test(path));
  if (known) return known[1];
  const plain = detail.replace(/`([^`]*)`/g, "“$1”");
  return plain.charAt(0).toUpperCase() + plain.slice(1) + (plain.endsWith(".") ? "" : ".");
}

/** Returns the text of each fault by its path. */
export function faultsByPath(faults: readonly Fault[]): Record<string, string> {
  return Object.fromEntries(faults.map((fault) => [pathOf(fault.pointer), faultText(fault)]));
}
