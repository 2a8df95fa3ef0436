// The literals that name the class of a crawler, from the patterns and tags of crawler-user-agents.
import { RegExpParser } from "@eslint-community/regexpp";

/** Tags in the order of `BotClass::ALL`. */
export const TAGS = ["search-engine", "social-preview", "ai-crawler", "seo", "monitoring", "http-library", "advertising", "feed-reader",
  "archiver", "scanner", "academic", "browser-automation"];

/** A crawler with two tags is an AI crawler if one of them says so, else what the first says. */
export function tagOf(crawler) {
  const tag = crawler.tags.includes("ai-crawler") ? "ai-crawler" : crawler.tags[0];
  if (!TAGS.includes(tag)) throw new Error(`unknown tag ${tag} of ${crawler.pattern}: add a BotClass`);
  return tag;
}

/** The least length of a name that is cut. Longer ones name few crawlers more, and take much space. */
const MIN_CUT = 8;

/** Returns `[name, index of its class]` for every crawler: as much of each literal as no crawler of another class has. */
export function names(crawlers) {
  const agents = crawlers.flatMap((crawler) => crawler.instances.map((agent) => [agent.toLowerCase(), tagOf(crawler)]));
  const found = new Map();
  for (const crawler of crawlers) {
    const tag = tagOf(crawler);
    const others = agents.filter(([, other]) => other !== tag).map(([agent]) => agent);
    for (const literal of literalsOf(crawler.pattern)) {
      let length = Math.min(MIN_CUT, literal.length);
      while (length < literal.length && others.some((agent) => agent.includes(literal.slice(0, length)))) length++;
      const name = literal.slice(0, length);
      if (!found.has(name)) found.set(name, TAGS.indexOf(tag));
    }
  }
  return [...found].filter(([name, tag]) => !isImplied(name, tag, found));
}

/** Whether a name without its last characters has the same class. */
function isImplied(name, tag, found) {
  for (let length = 3; length < name.length; length++) if (found.get(name.slice(0, length)) === tag) return true;
  return false;
}

// A class is asked for only if isbot has found a bot, so the longest literal part of a pattern is enough to name it.
function literalsOf(pattern) {
  return new RegExpParser().parsePattern(pattern).alternatives.flatMap(({ elements }) => {
    let parts = [""], best = [""];
    for (const element of elements) {
      const texts = textsOf(element);
      parts = texts === null ? [""] : parts.flatMap((part) => texts.map((text) => part + text));
      if (parts[0].length >= best[0].length) best = parts;
    }
    return [...new Set(best.map((text) => text.trim().toLowerCase()))].filter((text) => text.length > 1);
  });
}

function textsOf(element) {
  if (element.type === "Character") return [String.fromCharCode(element.value)];
  if (element.type === "CharacterClass" && !element.negate && element.elements.every((one) => one.type === "Character")) {
    return element.elements.map((one) => String.fromCharCode(one.value));
  }
  if ((element.type === "Group" || element.type === "CapturingGroup") && element.alternatives.every(({ elements }) => elements.every((one) => one.type === "Character"))) {
    return element.alternatives.map(({ elements }) => elements.map((one) => String.fromCharCode(one.value)).join(""));
  }
  return element.type === "Assertion" ? [""] : null;
}
