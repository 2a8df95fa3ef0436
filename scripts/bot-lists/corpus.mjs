// The agents that the tests of biolink/src/visitor/bot.rs read, with what isbot says of each.
import { isbot, list } from "isbot";
import { tagOf } from "./classes.mjs";

const verdict = (agent) => (isbot(agent) ? "bot" : "human");
const lines = (rows) => rows.map((row) => `${row.join("\t")}\n`).join("");

/** Every instance of crawler-user-agents: verdict of isbot, tag, agent. */
export function crawlerCorpus(crawlers) {
  const rows = crawlers.flatMap((crawler) => crawler.instances.map((agent) => [verdict(agent), tagOf(crawler), agent]));
  return lines(rows);
}

/** Agents that user-agents has seen, save those with a version that Chrome never had: verdict of isbot, agent. */
export function browserCorpus(samples) {
  const agents = [...new Set(samples.map((sample) => sample.userAgent))].filter((agent) => !/Chrome\/\d+\.0\.\d{4}\.\d{4}/.test(agent));
  return lines(agents.sort().map((agent) => [verdict(agent), agent]));
}

/** Texts made of pieces of isbot's patterns and of agents, most of them near a border of some pattern: verdict, text. */
export function patternCorpus(agents) {
  const random = generator(1);
  const pick = (from) => from[Math.floor(random() * from.length)];
  const around = ["", "", " ", "/", ";", "x", "_", "1", "-", ".", ",", "(", ")", "cu", "lib", "cam", "g", "wv", "app", " pixel", "s", "1.0;", "/5.0", "/1.2.3"];
  const pieces = list.flatMap((pattern) => pattern.split(/\\[bsdw]|[\\^$()[\]{}?:!<>|+*]/)).filter((piece) => piece.length > 1);
  const texts = new Set();
  const makers = [
    () => pick(around) + pick(pieces) + pick(around),
    () => pick(pieces) + pick(around) + pick(pieces),
    () => pick(around) + pick(around) + pick(around) + pick(around),
    () => pick(agents).slice(0, Math.floor(random() * 60)),
    () => pick(agents).slice(Math.floor(random() * 60)),
    () => `Mozilla/5.0 (X11; Linux x86_64) ${pick(around)}${pick(pieces)}${pick(around)} Safari/537.36`,
    () => pick(around) + "x".repeat(46 + Math.floor(random() * 6)) + pick(around),
  ];
  while (texts.size < 3000) {
    const text = pick(makers)().trim();
    if (/^[ -~]+$/.test(text)) texts.add(random() < 0.5 ? text : text.toUpperCase());
  }
  return lines([...texts].map((text) => [verdict(text), text]));
}

// mulberry32, so that the corpus is the same each time.
function generator(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
