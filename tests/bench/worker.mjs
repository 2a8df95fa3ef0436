// What the benchmarks of the worker share: its secrets, and the CPU time of its process.
import { readFileSync } from "node:fs";

/** The kernel's unit of CPU time in /proc, in microseconds (USER_HZ is 100). */
const TICK_MICROS = 10_000;

export const SECRETS = {
  ADMIN_SECRET: "admin-secret-of-a-measurement-0123456789",
  KEY_SIGNING_SECRET: "key-signing-secret-of-a-measurement-0123456789",
  GRANT_SECRET: "grant-secret-of-a-measurement-0123456789",
  WEBHOOK_ENCRYPTION_SECRET: "webhook-secret-of-a-measurement-0123456789",
};

/** The CPU time that a process has used so far, in microseconds. */
export function cpuMicros(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MICROS;
}
