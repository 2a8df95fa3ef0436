/** What a view reads: its value, or the problem. The last read counts. */
import { type Problem, problemOf } from "./problem";

export class Resource<T> {
  value = $state<T>();
  problem = $state<Problem | null>(null);
  isLoading = $state(false);
  readonly #read: () => Promise<T>;
  #turn = 0;

  constructor(read: () => Promise<T>) {
    this.#read = read;
    void this.load();
  }

  /** Reads it again every so often while its view is open and seen. To be called where the view begins. */
  follow(ms: number): void {
    $effect(() => {
      const timer = setInterval(() => {
        if (document.visibilityState === "visible") void this.load();
      }, ms);
      return () => clearInterval(timer);
    });
  }

  async load(): Promise<void> {
    this.#turn += 1;
    const own = this.#turn;
    this.isLoading = true;
    try {
      const value = await this.#read();
      if (own !== this.#turn) return;
      this.value = value;
      this.problem = null;
    } catch (error) {
      if (own === this.#turn) this.problem = problemOf(error);
    }
    if (own === this.#turn) this.isLoading = false;
  }
}
