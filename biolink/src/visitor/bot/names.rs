//! The names of crawlers. `scripts/bot-lists.mjs` writes their lines from crawler-user-agents (npm, MIT).

/// The index of a class in `BotClass::ALL`, a length, and the names of that length without anything
/// between them.
type Run = (usize, usize, &'static [u8]);

pub(super) static NAMES: [Run; 104] = runs(include_bytes!("names.txt"));

/// Reads lines of a class and a length, each as a character from `0` on, and names.
#[allow(clippy::indexing_slicing, reason = "it runs when it is compiled")]
const fn runs<const N: usize>(mut lines: &'static [u8]) -> [Run; N] {
    let (mut runs, mut number): ([Run; N], _) = ([(0, 0, lines); N], 0);
    while number < N {
        let mut end = 0;
        while lines[end] != b'\n' {
            end += 1;
        }
        let names = lines.split_at(end).0.split_at(2).1;
        runs[number] = ((lines[0] - b'0') as usize, (lines[1] - b'0') as usize, names);
        (lines, number) = (lines.split_at(end + 1).1, number + 1);
    }
    assert!(lines.is_empty(), "the number of runs is not that of the lines");
    runs
}
