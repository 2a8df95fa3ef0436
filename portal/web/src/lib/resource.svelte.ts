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
