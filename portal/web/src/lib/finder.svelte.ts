import { router } from "./router.svelte";

/** What a list is narrowed to, which its address has. */
export class Finder {
  /** The words that are typed. */
  q = $state(router.query.get("q") ?? "");
  readonly #load: () => Promise<void>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wanted: Record<string, string> = {};

  constructor(load: () => Promise<void>) {
    this.#load = load;
  }

  /** What is typed soon after another choice is wanted with it, and not in its place. */
  find(changes: Record<string, string>): void {
    clearTimeout(this.#timer);
    this.#wanted = { ...this.#wanted, ...changes };
    this.#timer = setTimeout(() => {
      router.search(this.#wanted);
      this.#wanted = {};
      void this.#load();
    }, 200);
  }
}
