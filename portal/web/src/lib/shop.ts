/** Shops as a person reads them: their settings, and what came of a run. */
import type { Source } from "./api";

export const FORMATS: readonly (readonly [Source["format"], string])[] = [
  ["auto", "Find out"],
  ["shopify", "Shopify"],
  ["woocommerce", "WooCommerce"],
  ["merchant_xml", "Google Merchant (XML)"],
  ["merchant_table", "Google Merchant (table)"],
  ["items", "Own format"],
];
export const NUMBERS: readonly (readonly [Source["number_format"], string])[] = [
  ["auto", "Find out from all prices"],
  ["dot", "1,299.00"],
  ["comma", "1.299,00"],
];
export const SORTS: readonly (readonly [Source["sort"], string])[] = [
  ["feed", "As in the feed"],
  ["title", "By name"],
  ["price", "Cheapest first"],
  ["-price", "Most expensive first"],
];
export const STOCK = [
  ["in_stock", "In stock"],
  ["preorder", "Preorder"],
  ["backorder", "On order"],
  ["out_of_stock", "Sold out"],
] as const;
export const TRIGGERS: Record<string, string> = {
  schedule: "By the clock",
  settings: "After a change of settings",
  refresh: "Asked for",
  push: "Told by the shop",
};
export const OUTCOMES: Record<string, string> = {
  updated: "The page changed",
  unchanged: "Nothing new",
  not_modified: "Nothing new",
  held: "Held: most products were gone",
  failed: "Failed",
};

/** A setting of a source by which a fault can be cured. */
export type Setting = "url" | "currency" | "number_format" | "encoding" | "format" | "store_url";
export interface Fault {
  text: string;
  /** What to do at the shop, or with the setting. */
  cure: string;
  setting: Setting | null;
}

const CURES: readonly (readonly [RegExp, text: string, cure: string, Setting | null])[] = [
  [
    /price `(.+?)` has no currency/,
    "The price “$1” has no currency.",
    "Set the currency of the shop.",
    "currency",
  ],
  [
    /without a currency|have no currency/,
    "Prices have no currency.",
    "Set the currency of the shop.",
    "currency",
  ],
  [
    /price `(.+?)` could mean two amounts.*`dot` for (.+?) or to `comma` for (.+)/,
    "The price “$1” can mean $2 or $3.",
    "Say how the shop writes numbers.",
    "number_format",
  ],
  [
    /price `(.+?)` is not in the number format/,
    "The price “$1” is written otherwise than you said.",
    "Change how the shop writes numbers.",
    "number_format",
  ],
  [
    /price `(.+?)` is not such as/,
    "“$1” is no price.",
    "Give it one amount, such as 15.00 EUR, in the shop.",
    null,
  ],
  [
    /is not in UTF-8 and names no other encoding/,
    "The feed does not say how it writes letters such as é.",
    "Enter its encoding, which the shop’s export names.",
    "encoding",
  ],
  [
    /is not in `(.+?)`, which/,
    "The feed is not in the encoding $1.",
    "Enter the one in which the shop writes it.",
    "encoding",
  ],
  [
    /encoding `(.+?)`, which .+? names, is unknown/,
    "Nobody knows the encoding $1.",
    "Enter one such as UTF-8 or windows-1250.",
    "encoding",
  ],
  [/has no id/, "It has no number of its own.", "Give it one in the shop’s export.", null],
  [/has an id longer/, "Its number is too long.", "Shorten it in the shop’s export.", null],
  [/has no title/, "It has no name.", "Give it one in the shop.", null],
  [/has no link/, "It has no address.", "Add the address of the product to the feed.", null],
  [/its link (.+)/, "Its address cannot be used: it $1.", "Correct it in the shop.", null],
  [/sale dates `(.+?)`/, "The dates of its sale, “$1”, cannot be read.", "Correct them in the shop.", null],
  [
    /image `(.+?)` is left out: it (.+)/,
    "It is shown without its picture: the address $2.",
    "Correct the address of the picture in the shop.",
    null,
  ],
  [
    /line (\d+) has a bare `&`/,
    "Line $1 has a single “&”. It was read as it is meant.",
    "Nothing needs to be done.",
    null,
  ],
  [/has the id of an item before it/, "An earlier product has the same number.", "Give each its own.", null],
  [
    /is a web page \(HTML\)|is not a Shopify store/,
    "The address is that of a web page.",
    "Enter the address of the feed.",
    "url",
  ],
  [
    /the source expects (.+)/,
    "The feed is of another kind than you chose.",
    "Choose “Find out”, or the kind that it is.",
    "format",
  ],
  [/XML/, "The feed is no right XML.", "Have the shop export it again.", null],
  [
    /is not JSON/,
    "The feed cannot be read.",
    "Check the address: it should be that of the feed itself.",
    "url",
  ],
  [/table has no column `(.+?)`/, "The table has no column “$1”.", "Add it to the shop’s export.", null],
  [/did not respond within/, "The shop took too long.", "It is tried again by itself.", null],
  [
    /connection to the shop failed/,
    "The shop could not be reached.",
    "Check the address. It is tried again by itself.",
    "url",
  ],
  [/longer than \d+ bytes/, "The feed is larger than 5 MB.", "Have the shop export fewer products.", null],
  [
    /responded with status (401|403)/,
    "The shop refused: it asks for a password ($1).",
    "Let anyone read the feed.",
    null,
  ],
  [
    /responded with status (404|410)/,
    "There is nothing at this address ($1).",
    "Enter the address of the feed.",
    "url",
  ],
  [/responded with status (3\d\d)/, "The address leads elsewhere ($1).", "Enter where it leads to.", "url"],
  [/responded with status 429/, "The shop asks for a pause (429).", "It is tried again by itself.", null],
  [
    /responded with status (5\d\d)/,
    "The shop has an error of its own ($1).",
    "It is tried again by itself.",
    null,
  ],
  [/the URL (.+)/, "The address cannot be used: it $1.", "Enter the address of the feed.", "url"],
];

/** Returns what a fault of a run means, and what cures it. */
export function faultOf(detail: string): Fault {
  const [, first] = /^none of the \d+ items can be shown; the first (.+)/.exec(detail) ?? [];
  if (first) {
    const own = faultOf(first);
    return { ...own, text: `No product can be shown. Of the first one: ${own.text}` };
  }
  for (const [pattern, text, cure, setting] of CURES) {
    const match = pattern.exec(detail);
    if (!match) continue;
    const said = text.replace(/\$(\d)/g, (_, group: string) => match[Number(group)] ?? "");
    return { text: said, cure, setting };
  }
  const plain = detail.replace(/`([^`]*)`/g, "“$1”");
  return { text: plain.charAt(0).toUpperCase() + plain.slice(1) + ".", cure: "", setting: null };
}
