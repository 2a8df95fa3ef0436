//! A process of the project's own, started for a test and ended with it.

use std::{
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

/// A running process with its captured output.
pub struct Process {
    child: Child,
    output: Arc<Mutex<String>>,
}

/// Timeout for the start or the end of a process.
const PATIENCE: Duration = Duration::from_secs(60);

impl Process {
    /// Starts `command` and waits for the first line of its output that `ready` makes something of.
    pub fn start<T>(command: &mut Command, ready: impl Fn(&str) -> Option<T>) -> (Self, T) {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|fault| panic!("cannot start {command:?}: {fault}"));
        let output = Arc::new(Mutex::new(String::new()));
        let pipes: [Option<Box<dyn Read + Send>>; 2] = [
            child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
            child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
        ];
        for pipe in pipes.into_iter().flatten() {
            let output = Arc::clone(&output);
            thread::spawn(move || {
                for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                    output.lock().unwrap().push_str(&format!("{line}\n"));
                }
            });
        }
        let mut process = Self { child, output };
        let first = wait_for(PATIENCE, || {
            if let Ok(Some(status)) = process.child.try_wait() {
                panic!("{} ended with {status}:\n{}", command.get_program().display(), process.output());
            }
            process.output().lines().find_map(&ready)
        });
        (process, first)
    }

    /// Returns the output so far, of stdout and stderr.
    pub fn output(&self) -> String {
        self.output.lock().unwrap().clone()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.pid().to_string()]).status().unwrap();
        assert!(status.success(), "kill -s {name}");
    }

    /// Waits for the end of the process. Returns how long it took.
    pub fn ended_within(&mut self, limit: Duration) -> Duration {
        let start = Instant::now();
        wait_for(limit, || self.child.try_wait().unwrap());
        start.elapsed()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.signal("TERM");
            let ended = poll(PATIENCE, || self.child.try_wait().ok().flatten());
            if ended.is_none() {
                self.child.kill().ok();
                self.child.wait().ok();
            }
        }
    }
}

/// Polls until `condition` returns a value, and returns it. Panics after `limit`.
pub fn wait_for<T>(limit: Duration, condition: impl FnMut() -> Option<T>) -> T {
    poll(limit, condition).unwrap_or_else(|| panic!("did not happen within {limit:?}"))
}

fn poll<T>(limit: Duration, mut condition: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    while start.elapsed() < limit {
        if let Some(value) = condition() {
            return Some(value);
        }
        thread::sleep(Duration::from_millis(10));
    }
    None
}

/// Returns the root of the checkout.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Returns the path of a binary of the workspace, built with the same profile as this program: tests lie in `deps` beside the binaries.
pub fn binary(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let beside = own.parent().unwrap();
    let folder = if beside.ends_with("deps") { beside.parent().unwrap() } else { beside };
    let path = folder.join(name);
    assert!(path.exists(), "{} is not built: cargo build -p {name}", path.display());
    path
}
