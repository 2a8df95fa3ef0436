// Medians and tables of the benchmarks.

export function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

const figure = (value) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));

/** The width of an interval up to which a ratio counts as certain, as a share of the ratio. */
export const CERTAIN = 0.05;
/** Draws of the bootstrap, and the share of them on each side of an interval of 95 %. */
const DRAWS = 2000;
const OUTSIDE = 0.025;

/**
 * The median of the ratios of paired rounds, and the interval of 95 % in which it would lie if the same rounds came again by chance
 * (bootstrap; the same for the same rounds). Fewer than three rounds have no interval.
 */
export function ratioOf(ours, theirs) {
  const each = ours.map((value, round) => value / theirs[round]);
  if (each.length < 3) return { median: median(each) };
  let state = 0x9e3779b9;
  const draw = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return each[(state >>> 0) % each.length];
  };
  const medians = Array.from({ length: DRAWS }, () => median(each.map(draw))).sort((a, b) => a - b);
  const outside = DRAWS * OUTSIDE;
  const interval = [medians[outside], medians[DRAWS - 1 - outside]];
  return { median: median(each), interval, width: (interval[1] - interval[0]) / median(each) };
}

/** Whether more rounds would say nothing new of the first peer's ratios. */
export function isCertain(name, [first, ...others], valuesOf) {
  const compared = others.map((peer) => valuesOf(peer, name)).filter(Boolean);
  return compared.every((values) => ratioOf(valuesOf(first, name), values).width <= CERTAIN);
}

function ratio(ours, theirs) {
  const { median, interval } = ratioOf(ours, theirs);
  return `${median.toFixed(2)}${interval ? ` ${interval.map((end) => end.toFixed(2)).join("…")}` : ""}`;
}

/** Prints a table in Markdown: a row for each name, and the first peer's ratio to each of the others. */
export function printRatios(names, peers, valuesOf) {
  const [first, ...others] = peers;
  const line = (cells) => console.log(`| ${cells.join(" | ")} |`);
  line(["", ...peers.map(({ name }) => name)]);
  line(["---", ...peers.map(() => "---")]);
  for (const name of names) {
    const ours = valuesOf(first, name);
    const cell = (peer) => {
      const values = valuesOf(peer, name);
      return values ? `${figure(median(values))} (${ratio(ours, values)})` : "–";
    };
    line([name, figure(median(ours)), ...others.map(cell)]);
  }
  const uncertain = names.filter((name) => !isCertain(name, peers, valuesOf));
  if (uncertain.length) console.log(`\nnot certain, since an interval is wider than ${CERTAIN * 100} %: ${uncertain.join(", ")}`);
}
