/** Order by drag, with pointer or finger, and by arrow keys. The handles are buttons with `data-handle`. */
export interface SortableOptions {
  move: (from: number, into: number) => void;
  say: (text: string) => void;
}

export function sortable({ move, say }: SortableOptions) {
  return (list: HTMLElement) => {
    const items = () =>
      [...list.children].filter((child): child is HTMLElement => child instanceof HTMLElement);
    const place = (target: EventTarget | null) => {
      const handle = target instanceof Element ? target.closest("[data-handle]") : null;
      const item = handle?.closest("li");
      return item instanceof HTMLElement && item.parentElement === list ? items().indexOf(item) : -1;
    };
    let dragged = -1;

    const down = (event: PointerEvent) => {
      dragged = place(event.target);
      if (dragged < 0 || event.button !== 0) return;
      event.preventDefault();
      list.setPointerCapture(event.pointerId);
      items()[dragged]?.setAttribute("data-dragged", "");
    };
    const drag = (event: PointerEvent) => {
      if (dragged < 0) return;
      if (event.clientY < 80) scrollBy(0, -12);
      if (event.clientY > innerHeight - 80) scrollBy(0, 12);
      const boxes = items().map((item) => item.getBoundingClientRect());
      const above = boxes[dragged - 1];
      const below = boxes[dragged + 1];
      if (above && event.clientY < above.top + above.height / 2) step(-1);
      else if (below && event.clientY > below.top + below.height / 2) step(1);
    };
    const step = (by: number) => {
      move(dragged, dragged + by);
      dragged += by;
    };
    const up = () => {
      if (dragged < 0) return;
      for (const item of items()) item.removeAttribute("data-dragged");
      say(`Place ${dragged + 1} of ${items().length}.`);
      dragged = -1;
    };
    const key = (event: KeyboardEvent) => {
      const from = place(event.target);
      const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (from < 0 || by === undefined) return;
      event.preventDefault();
      const into = from + by;
      if (into < 0 || into >= items().length) return;
      move(from, into);
      say(`Place ${into + 1} of ${items().length}.`);
      requestAnimationFrame(() => items()[into]?.querySelector<HTMLElement>("[data-handle]")?.focus());
    };
    const controller = new AbortController();
    const { signal } = controller;
    list.addEventListener("pointerdown", down, { signal });
    list.addEventListener("pointermove", drag, { signal });
    list.addEventListener("pointerup", up, { signal });
    list.addEventListener("pointercancel", up, { signal });
    list.addEventListener("keydown", key, { signal });
    return () => controller.abort();
  };
}

/** Moves an entry of an array. */
export function moved<T>(entries: T[], from: number, into: number): void {
  const [entry] = entries.splice(from, 1);
  if (entry !== undefined) entries.splice(into, 0, entry);
}
