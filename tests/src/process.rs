//! A process of the project, started for a test and stopped with it.

use std::{
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
};

use crate::wait::{PATIENCE, poll, until, wait_for};

/// A running process with its captured output.
pub struct Process {
    child: Child,
    output: Arc<Mutex<String>>,
    /// Threads that read the output to its end.
    readers: Vec<JoinHandle<()>>,
}

/// Runs a command until it exits, or until its own input ends, whichever is first.
const WHILE_INPUT_IS_OPEN: &str = r#"
exec 3<&0
"$@" 3<&- </dev/null &
command=$!
{ read -r _ <&3; kill "$command"; } 2>/dev/null &
watch=$!
wait "$command"
status=$?
kill "$watch" 2>/dev/null
exit "$status""#;

impl Process {
    /// Starts `command`. Blocks until `ready` returns a value for a line of the output, and returns
    /// that value.
    ///
    /// # Panics
    /// If the process exits before that. The message contains its output.
    pub fn start<T>(command: &mut Command, ready: impl Fn(&str) -> Option<T>) -> (Self, T) {
        Self::spawn(command.stdin(Stdio::null()), ready)
    }

    /// Does the same for a process that is never dropped, because tests share it. It is stopped when
    /// this program ends, however that happens: the pipe that is its input is closed then. Its
    /// [`Process::pid`] is that of a shell.
    pub fn start_shared<T>(command: &mut Command, ready: impl Fn(&str) -> Option<T>) -> (Self, T) {
        let mut shell = Command::new("sh");
        shell.args(["-c", WHILE_INPUT_IS_OPEN, "sh"]).arg(command.get_program()).args(command.get_args());
        shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.current_dir(command.get_current_dir().unwrap_or_else(|| root()));
        Self::spawn(shell.stdin(Stdio::piped()), ready)
    }

    fn spawn<T>(command: &mut Command, ready: impl Fn(&str) -> Option<T>) -> (Self, T) {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let output = Arc::new(Mutex::new(String::new()));
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let readers = vec![capture(stdout, Arc::clone(&output)), capture(stderr, Arc::clone(&output))];
        let mut process = Self { child, output, readers };
        let first = wait_for(PATIENCE, || {
            if let Ok(Some(status)) = process.child.try_wait() {
                process.join_readers();
                panic!("{} exited with {status}:\n{}", command.get_program().display(), process.output());
            }
            process.output().lines().find_map(&ready)
        });
        (process, first)
    }

    /// Returns the output so far, of stdout and stderr. It is complete once the exit of the process
    /// was awaited.
    pub fn output(&self) -> String {
        self.output.lock().unwrap().clone()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name, such as `TERM`.
    pub fn signal(&self, name: &str) {
        send_signal(self.pid(), name);
    }

    /// Sends SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }

    /// Waits for the process to exit and for the rest of its output.
    pub async fn exited(&mut self) -> ExitStatus {
        let mut status = None;
        until("the process exits", || {
            status = self.child.try_wait().unwrap();
            std::future::ready(status.is_some())
        })
        .await;
        self.join_readers();
        status.unwrap()
    }

    /// The same for a test that does not run on tokio.
    pub fn wait_for_exit(&mut self) -> ExitStatus {
        let status = wait_for(PATIENCE, || self.child.try_wait().unwrap());
        self.join_readers();
        status
    }

    fn join_readers(&mut self) {
        self.readers.drain(..).for_each(|reader| reader.join().unwrap());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            self.signal("TERM");
            if poll(PATIENCE, || self.child.try_wait().ok().flatten()).is_none() {
                self.kill();
            }
        }
    }
}

/// Sends a signal by its name to a process that a test started.
pub fn send_signal(pid: u32, name: &str) {
    let status = Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap();
    assert!(status.success(), "kill -s {name}");
}

/// Appends the lines of a pipe to `output` until the pipe is closed.
fn capture(pipe: impl Read + Send + 'static, output: Arc<Mutex<String>>) -> JoinHandle<()> {
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let mut output = output.lock().unwrap();
            output.push_str(&line);
            output.push('\n');
        }
    })
}

/// Returns the root of the checkout.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Returns the program of Node: the project's own, where `scripts/npm.sh` has installed it, so that tests need no script
/// to begin with.
pub fn node() -> PathBuf {
    let own = root().join(".tools/node/bin/node");
    if own.exists() { own } else { "node".into() }
}

/// Returns the folder of build artifacts, of which this program is a part.
pub fn target() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.ancestors()
        .find(|folder| folder.ends_with("debug") || folder.ends_with("release"))
        .unwrap()
        .parent()
        .unwrap()
        .to_owned()
}

/// Returns the path of a binary of the workspace that was built with the same profile as this
/// program. Tests lie in `deps` beside the binaries.
pub fn binary(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let beside = own.parent().unwrap();
    let folder = if beside.ends_with("deps") { beside.parent().unwrap() } else { beside };
    let path = folder.join(name);
    assert!(path.exists(), "{} is not built: cargo build -p {name}", path.display());
    path
}
