/** Addresses of the console: real paths below /console, with reload and back. */

const BASE = "/console";

class Router {
  #path = $state(ownPath());
  #query = $state(location.search);
  /** Asked before a view is left; false keeps it. */
  guard: (() => Promise<boolean>) | null = null;

  constructor() {
    addEventListener("popstate", () => void this.#step());
    document.addEventListener("click", (event) => this.#follow(event));
  }

  /** The path below the console, such as `/pages/pg_1`. */
  get path(): string {
    return this.#path;
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.#query);
  }

  async go(path: string, isReplaced = false): Promise<void> {
    const from = this.#path;
    if (from !== path.split("?")[0] && this.guard && !(await this.guard())) return;
    history[isReplaced ? "replaceState" : "pushState"](null, "", BASE + (path === "/" ? "/" : path));
    this.#read();
    if (from !== this.#path) scrollTo(0, 0);
  }

  /** Sets parameters of the query; an empty one goes. */
  search(changes: Record<string, string>): void {
    const query = this.query;
    for (const [name, value] of Object.entries(changes)) {
      if (value) query.set(name, value);
      else query.delete(name);
    }
    const text = query.toString();
    void this.go(this.#path + (text ? `?${text}` : ""), true);
  }

  /** Shows what the browser's own buttons lead to, unless the view is to stay. */
  async #step(): Promise<void> {
    const left = BASE + this.#path + this.#query;
    if (ownPath() !== this.#path && this.guard && !(await this.guard())) history.pushState(null, "", left);
    else this.#read();
  }

  #read(): void {
    this.#path = ownPath();
    this.#query = location.search;
  }

  #follow(event: MouseEvent): void {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
    if (link.pathname !== BASE && !link.pathname.startsWith(`${BASE}/`)) return;
    event.preventDefault();
    void this.go(link.pathname.slice(BASE.length) + link.search);
  }
}

function ownPath(): string {
  const path = location.pathname.slice(BASE.length).replace(/\/+$/, "");
  return path || "/";
}

export const router = new Router();

/** Returns the address of a view. */
export const to = (path: string): string => BASE + path;
