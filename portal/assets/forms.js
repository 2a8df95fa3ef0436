// The forms of the console: JSON into their fields and out of them, lists, and problems at their fields.
"use strict";
const forms = (() => {
  const ends = (node) => node.parentElement.closest("[data-item], form");
  const take = (value, path) => path.reduce((object, member) => object?.[member], value);
  const changed = (node) => node.dispatchEvent(new Event("input", { bubbles: true }));

  /** The members and indexes that lead to a field or a list. Names in an item of a list begin there. */
  function pathOf(part) {
    const own = (part.name ?? part.dataset.list).split(".");
    const item = ends(part);
    if (!("item" in item.dataset)) return own;
    const list = item.parentElement;
    return [...pathOf(list), [...list.children].indexOf(item), ...own];
  }

  function put(object, path, value) {
    path.slice(0, -1).reduce((into, member, at) => (into[member] ??= Number.isInteger(path[at + 1]) ? [] : {}), object)[path.at(-1)] = value;
  }

  /** The members of an object as items of a list. `read` makes the object again. */
  const entriesOf = (object) => Object.entries(object).map(([name, value]) => ({ name, value }));

  /** Fills a form, or an item of a list, with a value. What has no field is kept for `read`. */
  function fill(part, value) {
    part.kept = value;
    const own = (selector) => [...part.querySelectorAll(selector)].filter((node) => ends(node) === part);
    for (const list of own("[data-list]")) {
      list.replaceChildren();
      const items = take(value, list.dataset.list.split(".")) ?? [];
      for (const item of "entries" in list.dataset ? entriesOf(items) : items) add(list, item);
    }
    for (const field of own("[name]:not(fieldset, button)")) set(field, take(value, field.name.split(".")));
  }

  function set(field, value) {
    const { type, dataset } = field;
    if (value === undefined) return;
    if (type === "checkbox") field.checked = "json" in dataset ? value : value.includes(field.value);
    else if ("words" in dataset) field.value = value.join(", ");
    else if (type === "datetime-local") field.value = value?.slice(0, 19) ?? "";
    else field.value = value ?? "";
  }

  function add(list, value) {
    const [item] = list.nextElementSibling.content.cloneNode(true).children;
    list.append(item);
    fill(item, value);
    return item;
  }

  /** Returns the fields as JSON, with those of the pressed button. `undefined` leaves a field out. */
  function read(form, pressed) {
    const body = form.dataset.method === "PUT" ? structuredClone(form.kept) : {};
    const wholes = [];
    const groups = new Map();
    for (const list of form.querySelectorAll("[data-list]")) put(body, pathOf(list), [...list.children].map((item) => structuredClone(item.kept)));
    for (const field of form.elements) {
      const { name, type, dataset, value, checked } = field;
      if (!name || (type === "submit" && field !== pressed)) continue;
      const path = pathOf(field);
      if (type === "fieldset") wholes.unshift(path);
      else if (type !== "checkbox") put(body, path, typed(field));
      else if ("json" in dataset) put(body, path, checked);
      else {
        const group = path.join(".");
        groups.set(group, [...(groups.get(group) ?? []), ...(checked ? [value] : [])]);
        put(body, path, groups.get(group));
      }
    }
    for (const list of form.querySelectorAll("[data-entries]")) {
      const path = pathOf(list);
      put(body, path, Object.fromEntries(take(body, path).map(({ name = "", value = "" }) => [name, value])));
    }
    // An object without anything in it is none.
    for (const path of wholes) if (Object.values(take(body, path) ?? {}).every((member) => member == null)) put(body, path, null);
    return body;
  }

  /** Lines `name: value` as an object. One without a value is null. */
  const lines = (text) => Object.fromEntries(text.split("\n").filter((line) => line.trim()).map((line) => {
    const [name, ...value] = line.split(":");
    return [name.trim(), value.join(":").trim() || null];
  }));

  /** The value of a field. An empty one is null if it may be, or left out. */
  function typed({ value, type, dataset }) {
    if ("words" in dataset) return value.split(",").map((word) => word.trim()).filter(Boolean);
    if (!value) return "nullable" in dataset ? null : undefined;
    if ("lines" in dataset) return lines(value);
    if (type === "number" || "json" in dataset) return JSON.parse(value);
    return type === "datetime-local" ? new Date(`${value}Z`).toISOString() : value;
  }

  function clear(form) {
    for (const note of form.querySelectorAll(".fault")) note.remove();
    for (const field of form.querySelectorAll("[aria-invalid]")) for (const name of ["aria-invalid", "aria-describedby"]) field.removeAttribute(name);
  }

  /** Shows errors at the fields that their pointers name, and moves to the first. Returns the others. */
  function point(form, errors) {
    clear(form);
    const fields = [...form.elements].filter(({ name, type }) => name && type !== "submit" && type !== "fieldset");
    const places = fields.map((field) => `#/${pathOf(field).join("/")}`);
    const find = (test) => fields[places.findIndex(test)];
    const pointed = [];
    const others = errors.filter(({ pointer = "#", detail }) => {
      const field = pointer !== "#" && (find((place) => place === pointer) ?? find((place) => place.startsWith(`${pointer}/`)) ?? find((place) => pointer.startsWith(`${place}/`)));
      if (field) pointed.push(field);
      if (field) mark(field, detail, pointed.length);
      return !field;
    });
    fields.find((field) => pointed.includes(field))?.focus();
    return others;
  }

  function mark(field, detail, number) {
    const note = Object.assign(document.createElement("p"), { className: "fault", id: `fault-${number}`, textContent: detail });
    (field.closest("label") ?? field).after(note);
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-describedby", note.id);
    for (let part = field.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  }

  function say(item) {
    const items = [...item.parentElement.children];
    document.getElementById("status").textContent = `Place ${items.indexOf(item) + 1} of ${items.length}.`;
  }

  function place(item, other, isAfter) {
    if (isAfter) other.after(item);
    else other.before(item);
    say(item);
    changed(item);
  }

  /** What the buttons of lists do. The focus stays, or goes to what is nearest. */
  const actions = {
    add(button) {
      const item = add(button.parentElement.querySelector("[data-list]"), {});
      item.querySelector("input, select, textarea").focus();
      changed(item);
    },
    up: (button, item) => move(button, item, item.previousElementSibling, false),
    down: (button, item) => move(button, item, item.nextElementSibling, true),
    remove(button, item) {
      const list = item.parentElement;
      const next = item.nextElementSibling ?? item.previousElementSibling;
      item.remove();
      (next ?? list.parentElement).querySelector(next ? "[data-do=remove]" : ":scope > [data-do=add]").focus();
      changed(list);
    },
  };

  function move(button, item, other, isAfter) {
    if (other) place(item, other, isAfter);
    button.focus();
  }

  document.addEventListener("click", ({ target }) => actions[target.dataset.do]?.(target, target.closest("[data-item]")));

  // Pointer events, because a finger drags nothing with those of drag and drop.
  let dragged;
  document.addEventListener("pointerdown", (event) => {
    if (!("drag" in event.target.dataset)) return;
    event.preventDefault();
    event.target.releasePointerCapture(event.pointerId);
    dragged = event.target.closest("[data-item]");
    dragged.classList.add("dragged");
  });
  document.addEventListener("pointermove", ({ clientX, clientY }) => {
    let over = dragged && document.elementFromPoint(clientX, clientY)?.closest("[data-item]");
    while (over && over.parentElement !== dragged.parentElement) over = over.parentElement.closest("[data-item]");
    if (!over || over === dragged) return;
    const { top, height } = over.getBoundingClientRect();
    const isBelow = Boolean(dragged.compareDocumentPosition(over) & Node.DOCUMENT_POSITION_FOLLOWING);
    // Only past its middle, or items of different heights would change places without end.
    if (isBelow === clientY > top + height / 2) place(dragged, over, isBelow);
  });
  for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, () => { dragged?.classList.remove("dragged"); dragged = undefined; });

  return { fill, read, clear, point, changed };
})();
