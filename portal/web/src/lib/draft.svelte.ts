/**
 * A page while it is edited: what is typed is saved soon after, and can be undone.
 *
 * docs/decisions/portal.md, "A draft is saved after ten seconds of rest".
 */
import { biolink, type Page, type PageInput, takeWithEtag } from "./api";
import { faultsByPath } from "./field-texts";
import { messages } from "./messages.svelte";
import { type Problem, problemOf } from "./problem";

/** How long nothing is typed before it is saved, and the longest that typing puts it off. Each save is a version, of which ten are kept. */
const PAUSE_MS = 10_000;
const LONGEST_MS = 60_000;
/** How long after a change of what was refused. A save that is refused is no version. */
const RETRY_MS = 1_500;
const STEPS = 60;

export type SaveState = "saved" | "typing" | "saving" | "faulty" | "conflict" | "failed";
/** The ids of what is listed are the service's: what is new has a key of its own until it is saved. */
export interface Keyed {
  id?: string | null;
}

export class Draft {
  page = $state<Page>({} as Page);
  state = $state<SaveState>("saved");
  faults = $state<Record<string, string>>({});
  past = $state<string[]>([]);
  future = $state<string[]>([]);
  savedAt = $state(0);
  etag: string;
  /** What the service has stored. */
  stored = $state<Page>({} as Page);
  #current: string;
  /** What is stored, as a text. */
  #saved: string;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the oldest change that is not saved was made. */
  #since = 0;
  #saving: Promise<void> | null = null;

  constructor(page: Page, etag: string) {
    this.page = structuredClone(page);
    this.stored = page;
    this.etag = etag;
    this.#current = this.#saved = this.text();
  }

  /** What is sent, as a text. */
  text(): string {
    return JSON.stringify(content($state.snapshot(this.page) as Page));
  }

  /** Called after each change of the page. */
  changed(): void {
    const text = this.text();
    if (text === this.#current) return;
    this.past = [...this.past.slice(-STEPS), this.#current];
    this.future = [];
    this.#current = text;
    this.#later();
  }

  undo(): void {
    this.#step("past", "future");
  }

  redo(): void {
    this.#step("future", "past");
  }

  #step(from: "past" | "future", into: "past" | "future"): void {
    const text = this[from].at(-1);
    if (text === undefined) return;
    this[from] = this[from].slice(0, -1);
    this[into] = [...this[into], this.#current];
    this.#current = text;
    Object.assign(this.page, JSON.parse(text) as Page);
    this.#later();
  }

  #later(): void {
    const now = Date.now();
    const pause = this.state === "faulty" || Object.keys(this.faults).length ? RETRY_MS : PAUSE_MS;
    this.#since ||= now;
    clearTimeout(this.#timer);
    if (this.#current === this.#saved && ["typing", "faulty"].includes(this.state)) {
      this.#since = 0;
      this.faults = {};
      this.state = "saved";
      return;
    }
    if (this.state !== "conflict") this.state = "typing";
    const wait = Math.min(pause, Math.max(0, this.#since + LONGEST_MS - now));
    this.#timer = setTimeout(() => void this.save(), wait);
  }

  /** Saves what is not saved yet. Resolves when it is, or is refused. */
  async save(): Promise<boolean> {
    clearTimeout(this.#timer);
    if (this.#saving) await this.#saving;
    if (this.state === "saved") return true;
    if (this.state === "conflict") return false;
    this.#saving = this.#send();
    await this.#saving;
    this.#saving = null;
    return this.isSaved();
  }

  private isSaved(): boolean {
    return this.state === "saved";
  }

  async #send(): Promise<void> {
    const sent = this.#current;
    this.#since = 0;
    this.state = "saving";
    try {
      const { value, etag } = await takeWithEtag(
        biolink.PUT("/pages/{page_id}", {
          params: { path: { page_id: this.page.id }, header: { "If-Match": this.etag } },
          body: named(JSON.parse(sent) as PageInput, this.stored),
        }),
      );
      this.#stored(value, etag, sent);
    } catch (error) {
      this.#refused(problemOf(error));
    }
  }

  #stored(value: Page, etag: string, sent: string): void {
    this.etag = etag;
    this.stored = value;
    this.faults = {};
    this.savedAt = Date.now();
    this.page.urls = value.urls;
    this.page.warnings = value.warnings;
    this.page.slug ||= value.slug;
    Object.assign(this.page, {
      revision: value.revision,
      has_unpublished_changes: value.has_unpublished_changes,
      status: value.status,
    });
    this.#saved = sent;
    if (this.#current !== sent) return this.#later();
    // What was new has a name now, by which the next save keeps it.
    name(this.page.links, value.links);
    name(this.page.products.items, value.products.items);
    this.#current = this.#saved = this.text();
    this.state = "saved";
  }

  #refused(problem: Problem): void {
    if (problem.status === 412) {
      this.state = "conflict";
      this.etag = problem.etag;
    } else if (problem.status === 422 || problem.status === 409) {
      this.faults = problem.code === "slug-taken" ? { slug: taken(problem) } : faultsByPath(problem.errors);
      this.state = "faulty";
    } else {
      this.state = "failed";
      messages.report(problem);
    }
  }

  /** Replaces the change of somebody else by this one. */
  async overwrite(): Promise<void> {
    this.state = "typing";
    await this.save();
  }

  /** Goes on with another state of the page. */
  replace(page: Page, etag: string): void {
    clearTimeout(this.#timer);
    this.past = [...this.past.slice(-STEPS), this.#current];
    this.future = [];
    this.page = structuredClone(page);
    this.stored = page;
    this.etag = etag;
    this.#current = this.#saved = this.text();
    this.faults = {};
    this.state = "saved";
  }
}

const MEMBERS = [
  "slug",
  "external_id",
  "tags",
  "title",
  "bio",
  "avatar",
  "cover",
  "locale",
  "dir",
  "theme",
  "socials",
  "links",
  "products",
  "seo",
  "gate",
  "utm",
  "codes",
  "metadata",
] as const;

function content(page: Page): PageInput {
  return Object.fromEntries(MEMBERS.map((member) => [member, page[member]])) as unknown as PageInput;
}

/** An entry that was removed and is back by undo is a new one: its old id names nothing any more. */
function named(body: PageInput, stored: Page): PageInput {
  const known = new Set([...stored.links, ...stored.products.items].map(({ id }) => id));
  for (const entry of [...(body.links ?? []), ...(body.products?.items ?? [])] as Keyed[])
    if (!known.has(entry.id ?? "")) delete entry.id;
  return body;
}

const taken = ({ suggestions }: Problem) =>
  suggestions.length
    ? `This address is taken. Free are ${suggestions.slice(0, 3).join(", ")}.`
    : "This address is taken.";

function name(own: Keyed[], stored: readonly Keyed[]): void {
  if (own.length !== stored.length) return;
  own.forEach((entry, at) => (entry.id = stored[at]?.id));
}

const keys = new WeakMap<object, number>();
let last = 0;

/** Returns a key of an entry that stays when it is moved or gets its id. */
export function keyOf(entry: object): number {
  const known = keys.get(entry);
  if (known !== undefined) return known;
  last += 1;
  keys.set(entry, last);
  return last;
}
