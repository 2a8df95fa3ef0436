//! A backtracking matcher for the few patterns that are more than a literal. Texts are in lower
//! case.

use super::patterns::SETS;

/// The greatest number of steps, so that no text and no later pattern can take long. Those of today
/// need less than a quarter of it for the longest text.
const MAX_STEPS: usize = 50_000;

const MATCH: u8 = 0;
const CHAR: u8 = 1;
const CLASS: u8 = 2;
const WIDE_CLASS: u8 = 3;
const SPLIT: u8 = 4;
const JUMP: u8 = 5;
const START: u8 = 6;
const END: u8 = 7;
const BOUNDARY: u8 = 8;
const NOT_BEHIND: u8 = 9;
const NOT_AHEAD: u8 = 10;
const BEHIND_WORD: u8 = 11;
const SKIP: u8 = 12;

/// Returns true if the program matches the text at `at`.
pub(super) fn matches(program: &[u8], text: &[u8], at: usize) -> bool {
    let mut machine = Machine { program, text, pc: 0, at };
    let mut retries = Vec::new();
    for _ in 0..MAX_STEPS {
        match machine.step(&mut retries) {
            Some(true) => return true,
            Some(false) => {}
            None => match retries.pop() {
                Some((pc, at)) => (machine.pc, machine.at) = (pc, at),
                None => return false,
            },
        }
    }
    false
}

struct Machine<'a> {
    program: &'a [u8],
    text: &'a [u8],
    pc: usize,
    at: usize,
}

impl Machine<'_> {
    /// Executes one instruction. Returns `None` if it does not match, and true at the end of the
    /// program.
    fn step(&mut self, retries: &mut Vec<(usize, usize)>) -> Option<bool> {
        let matched = match self.operand()? {
            MATCH => return Some(true),
            CHAR => {
                let expected = self.operand()?;
                self.at += 1;
                self.text.get(self.at - 1) == Some(&expected)
            }
            CLASS => self.class(false)?,
            WIDE_CLASS => self.class(true)?,
            SPLIT => {
                let (first, second) = (self.operand()?, self.operand()?);
                retries.push((usize::from(second), self.at));
                self.pc = usize::from(first);
                true
            }
            JUMP => {
                self.pc = usize::from(self.operand()?);
                true
            }
            START => self.at == 0,
            END => self.at == self.text.len(),
            BOUNDARY => self.is_word(self.at.checked_sub(1)) != self.is_word(Some(self.at)),
            NOT_BEHIND => {
                let before = self.text.get(..self.at)?;
                !self.any_literal(|literal| before.ends_with(literal))?
            }
            NOT_AHEAD => {
                let after = self.text.get(self.at..)?;
                !self.any_literal(|literal| after.starts_with(literal))?
            }
            BEHIND_WORD => self.is_word(self.at.checked_sub(1)),
            SKIP => {
                self.at += usize::from(self.operand()?);
                true
            }
            _ => false,
        };
        matched.then_some(false)
    }

    fn operand(&mut self) -> Option<u8> {
        let byte = self.program.get(self.pc).copied();
        self.pc += 1;
        byte
    }

    /// Consumes a character if it is in the set. A character beyond ASCII is in wide classes only.
    fn class(&mut self, wide: bool) -> Option<bool> {
        let set = SETS.get(usize::from(self.operand()?))?;
        let byte = *self.text.get(self.at)?;
        self.at += 1;
        if byte.is_ascii() {
            return Some(set >> byte & 1 == 1);
        }
        while self.text.get(self.at).is_some_and(|byte| byte & 0xc0 == 0x80) {
            self.at += 1;
        }
        Some(wide)
    }

    fn is_word(&self, at: Option<usize>) -> bool {
        let byte = at.and_then(|at| self.text.get(at));
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    }

    /// Reads a list of literals and returns true if one of them is found.
    fn any_literal(&mut self, found: impl Fn(&[u8]) -> bool) -> Option<bool> {
        let mut any = false;
        for _ in 0..self.operand()? {
            let start = self.pc + 1;
            let end = start + usize::from(self.operand()?);
            any |= found(self.program.get(start..end)?);
            self.pc = end;
        }
        Some(any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_program_matches_nothing() {
        for program in
            [&[][..], &[CHAR], &[CLASS, 200], &[SPLIT, 0], &[99, 0], &[NOT_AHEAD, 2, 1], &[SKIP, 9, CHAR, 1]]
        {
            assert!(!matches(program, b"abc", 0), "{program:?}");
        }
    }

    #[test]
    fn endless_program_ends() {
        assert!(!matches(&[JUMP, 0], b"abc", 0));
    }
}
