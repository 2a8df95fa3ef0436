// Medians and tables of the benchmarks.

export function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

const figure = (value) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));

/** The median of each round's ratio, and its range. */
function ratio(ours, theirs) {
  const each = ours.map((value, round) => value / theirs[round]);
  return `${median(each).toFixed(2)} ${Math.min(...each).toFixed(2)}…${Math.max(...each).toFixed(2)}`;
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
}
