//! The process in which the edges of this program run (tests/edge/host.mjs), and one of them.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    process::{ChildStdin, ChildStdout, Command, Stdio},
    sync::{LazyLock, Mutex},
    thread,
};

use serde_json::json;

use crate::{
    keys,
    process::{node, root},
    wait::{PATIENCE, poll, wait_for},
};

/// It ends with this program, however that happens: the pipe that is its input is closed then.
static HOST: LazyLock<Host> = LazyLock::new(Host::start);
/// The output of each edge, by its number.
static OUTPUTS: LazyLock<Mutex<HashMap<u64, Output>>> = LazyLock::new(Mutex::default);

struct Host {
    pid: u32,
    /// The input of the process, and the number of edges started so far.
    input: Mutex<(ChildStdin, u64)>,
}

#[derive(Clone, Default)]
struct Output {
    text: String,
    has_ended: bool,
}

/// A running edge with its captured output. It ends when it is dropped.
pub struct HostedEdge {
    id: u64,
}

impl Host {
    #[expect(clippy::zombie_processes, reason = "it ends with this program, which nobody is left to see")]
    fn start() -> Self {
        let mut command = Command::new(node());
        keys::give(&mut command).current_dir(root()).arg("tests/edge/host.mjs");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        thread::spawn(|| capture(output));
        Self { pid: child.id(), input: Mutex::new((input, 0)) }
    }
}

/// Reads what the edges print until their process ends.
fn capture(output: ChildStdout) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        let (id, text) = line.split_once(' ').map_or((&*line, None), |(id, text)| (id, Some(text)));
        // Wrangler says where it has read variables, when it is asked for the first time.
        let Ok(id) = id.parse() else { continue };
        let mut outputs = OUTPUTS.lock().unwrap();
        let output = outputs.entry(id).or_default();
        match text {
            Some(text) => output.text.extend([text, "\n"]),
            None => output.has_ended = true,
        }
    }
    OUTPUTS.lock().unwrap().values_mut().for_each(|output| output.has_ended = true);
}

impl HostedEdge {
    /// Starts an edge with these arguments of `scripts/edge.mjs`. Blocks until `ready` returns a value for a line
    /// of its output, and returns that value.
    ///
    /// # Panics
    /// If the edge ends before that. The message contains its output.
    pub fn start<T>(arguments: &[&str], ready: impl Fn(&str) -> Option<T>) -> (Self, T) {
        let edge = Self { id: Self::send_start(arguments) };
        let first = wait_for(PATIENCE, || {
            let Output { text, has_ended } = edge.captured();
            let found = text.lines().find_map(&ready);
            assert!(found.is_some() || !has_ended, "the edge has ended:\n{text}");
            found
        });
        (edge, first)
    }

    fn send_start(arguments: &[&str]) -> u64 {
        let (input, started) = &mut *HOST.input.lock().unwrap();
        *started += 1;
        writeln!(input, "{started} {}", json!(arguments)).unwrap();
        *started
    }

    fn captured(&self) -> Output {
        OUTPUTS.lock().unwrap().get(&self.id).cloned().unwrap_or_default()
    }

    /// Returns the output so far. It is complete once the edge was ended.
    pub fn output(&self) -> String {
        self.captured().text
    }

    /// Returns the id of the process of workerd.
    pub fn runtime(&self) -> u32 {
        let output = self.output();
        output.lines().find_map(|line| line.strip_prefix("edge runtime ")).unwrap().parse().unwrap()
    }

    /// Returns the id of the process of Node, in which the other edges of this program run too.
    pub fn host() -> u32 {
        HOST.pid
    }

    /// Ends it, and waits until it has ended.
    pub fn end(&self) {
        if !self.captured().has_ended {
            writeln!(HOST.input.lock().unwrap().0, "{}", self.id).ok();
            assert!(
                poll(PATIENCE, || self.captured().has_ended.then_some(())).is_some() || thread::panicking()
            );
        }
    }
}

impl Drop for HostedEdge {
    fn drop(&mut self) {
        self.end();
        OUTPUTS.lock().unwrap().remove(&self.id);
    }
}
