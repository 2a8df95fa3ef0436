// Waiting for a condition that a URL tells.
import { setTimeout as delay } from "node:timers/promises";

const EVERY_MS = 50;

/** Returns once `url` answers 200; throws, saying what it answered instead, after `patienceMs`. */
export async function untilOk(url, patienceMs) {
  const end = Date.now() + patienceMs;
  let last = "nothing";
  while (Date.now() < end) {
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
      const body = await response.text();
      if (response.status === 200) return;
      last = `${response.status} ${body.slice(0, 200)}`;
    } catch (error) {
      last = error.cause?.code ?? error.message;
    }
    await delay(EVERY_MS);
  }
  throw new Error(`${url} did not become ready within ${patienceMs / 1_000} s; its last answer: ${last}`);
}
