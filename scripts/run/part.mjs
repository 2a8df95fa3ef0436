// One program of a local run: started with a log of its own, ended by its process id.
import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const PATIENCE_MS = 5_000; // the proxy promises two seconds

export class Part {
  /** Starts the program at once. It leads its own process group, so that Ctrl-C reaches only us and we end it in order. */
  constructor({ name, command, args, environment, cwd, logs }) {
    this.name = name;
    this.log = path.join(logs, `${name}.log`);
    const log = openSync(this.log, "w", 0o600);
    this.child = spawn(command, args, { cwd, env: environment, detached: true, stdio: ["ignore", log, log] });
    closeSync(log);
    /** Resolves with the reason once the program is gone. */
    this.ended = new Promise((resolve) => {
      this.child.once("error", (error) => resolve(error.message));
      this.child.once("exit", (code, signal) => resolve(signal ? `ended by ${signal}` : `ended with status ${code}`));
    });
  }

  get isRunning() {
    return this.child.pid !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Asks it to end, insists after a while, and returns when it is gone. */
  async end() {
    if (!this.isRunning) return;
    this.child.kill("SIGTERM");
    const gone = await Promise.race([this.ended, delay(PATIENCE_MS, undefined, { ref: false })]);
    if (gone === undefined) this.kill();
    await this.ended;
  }

  /** No more asking: the program and what it started. */
  kill() {
    if (this.isRunning) process.kill(-this.child.pid, "SIGKILL");
  }

  lastLines(count) {
    return readFileSync(this.log, "utf8").trimEnd().split("\n").slice(-count).join("\n");
  }
}
