/** Short messages that say what happened. */
import { PROBLEM_TEXTS } from "./problem-texts";
import { problemOf } from "./problem";
import { faultText } from "./field-texts";

export interface Message {
  id: number;
  kind: "good" | "bad";
  text: string;
  more: string;
  /** What can be done about it, such as undo. */
  action: { label: string; run: () => void } | null;
}

class Messages {
  all = $state<Message[]>([]);
  #last = 0;

  say(text: string, more = "", action: Message["action"] = null): void {
    this.#show({ kind: "good", text, more, action });
  }

  /** Shows a problem in people's words. */
  report(caught: unknown): void {
    const problem = problemOf(caught);
    const [title, advice] = PROBLEM_TEXTS[problem.code] ?? [problem.title, problem.detail];
    const faults = problem.errors.map(faultText).join(" ");
    const number = problem.status >= 500 && problem.requestId ? ` Request ${problem.requestId}.` : "";
    this.#show({ kind: "bad", text: title, more: (faults || advice) + number, action: null });
  }

  close(id: number): void {
    this.all = this.all.filter((message) => message.id !== id);
  }

  #show(message: Omit<Message, "id">): void {
    this.#last += 1;
    const id = this.#last;
    this.all = [...this.all.slice(-2), { ...message, id }];
    setTimeout(() => this.close(id), message.kind === "good" && !message.action ? 5_000 : 12_000);
  }
}

export const messages = new Messages();
