// The console: signs in with a key, which only the variable `secret` holds, and shows what the server renders.
"use strict";
{
  const element = (id) => document.getElementById(id);
  const [view, status, problem, ask, reveal] = ["view", "status", "problem", "ask", "reveal"].map(element);
  let secret = "";
  let turn = 0;
  let timer = 0;

  const isKey = () => secret.startsWith("utg_");
  const home = () => (isKey() ? "/v1/keys/me" : "/v1/keys");
  const isOfAdmin = (path) => /^\/(admin\/|v1\/keys($|[?]|\/key_))/.test(path);

  /** The path of the view that the address names, or that of the role's first view. */
  function current() {
    const path = location.hash.slice(1);
    const isOwn = path === "/v1/status" || isOfAdmin(path) !== isKey();
    const isView = path.startsWith("/") && new URL("/console" + path, location).pathname.startsWith("/console/");
    return isView && isOwn ? path : home();
  }

  async function send(method, path, body) {
    const headers = isKey() ? { "X-API-Key": secret } : { Authorization: `Bearer ${secret}` };
    if (body) headers["Content-Type"] = "application/json";
    const response = await fetch(path, { method, headers, body: body && JSON.stringify(body), credentials: "omit", redirect: "error" });
    const text = await response.text();
    if (response.ok) return text;
    throw Object.assign(new Error(), text.startsWith("{") ? JSON.parse(text) : { title: `Status ${response.status}` });
  }

  /** Shows the view again. A quiet one replaces only what changes by itself. */
  async function show(isQuiet = false) {
    clearTimeout(timer);
    turn += 1;
    const own = turn;
    const path = current();
    view.ariaBusy = "true";
    try {
      const html = await send("GET", "/console" + path);
      if (own !== turn) return;
      const { body } = new DOMParser().parseFromString(html, "text/html");
      if (isQuiet) for (const part of body.querySelectorAll("[data-live]")) element(part.id)?.replaceWith(part);
      else place(body, path);
      timer = refreshLater(5000);
    } catch (error) {
      if (own !== turn) return;
      if (!isQuiet) view.replaceChildren();
      report(error);
    } finally {
      view.ariaBusy = "false";
    }
  }

  function place(body, path) {
    problem.hidden = true;
    element("sign-in").hidden = true;
    element("signed-in").hidden = false;
    for (const menu of document.querySelectorAll("[data-role]")) menu.hidden = (menu.dataset.role === "key") !== isKey();
    for (const link of document.querySelectorAll("#menu a")) {
      const [own, shown] = [link.hash.slice(1), path].map((address) => address.split("?")[0]);
      link.ariaCurrent = `${shown}/`.startsWith(`${own}/`) ? "page" : null;
    }
    view.replaceChildren(...body.childNodes);
    const heading = view.querySelector("h2");
    heading?.focus();
    document.title = `${heading?.textContent ?? "Console"} – Console`;
  }

  const refreshLater = (delay) => (view.querySelector("[data-refresh]") ? setTimeout(refresh, delay) : 0);

  function refresh() {
    if (document.visibilityState === "visible" && !ask.open) show(true);
    else timer = refreshLater(1000);
  }

  function report(error) {
    const line = (text, name = "p") => Object.assign(document.createElement(name), { textContent: text });
    const faults = (error.errors ?? []).map((fault) => line(`${fault.pointer ?? ""} ${fault.detail}`.trim(), "li"));
    const more = line("", "p");
    if (error.code) more.append(Object.assign(line(error.code, "a"), { href: `/problems/${error.code}` }), ` · request ${error.request_id}`);
    const list = line("", "ul");
    list.append(...faults);
    problem.replaceChildren(line(error.title ?? "The gateway cannot be reached", "strong"), line(error.detail ?? error.message), list, more);
    problem.hidden = false;
    say("");
    if (error.status === 401 || error.code === "admin-secret-invalid") signOut();
  }

  function say(text) {
    status.textContent = text;
    if (text) problem.hidden = true;
  }

  function signOut() {
    secret = "";
    turn += 1;
    clearTimeout(timer);
    view.replaceChildren();
    element("signed-in").hidden = true;
    element("sign-in").hidden = false;
    element("secret").focus();
    document.title = "Console";
  }

  /** Opens a dialog. Resolves when it is closed, to whether it was by its button of that answer. */
  function opened(dialog, text) {
    dialog.querySelector("[data-text]").textContent = text;
    dialog.returnValue = "";
    dialog.showModal();
    return new Promise((resolve) => { dialog.onclose = () => resolve(dialog.returnValue === "yes"); });
  }

  /** Lines `name: value` as an object. One without a value is null. */
  const lines = (text) => Object.fromEntries(text.split("\n").filter((line) => line.trim()).map((line) => {
    const [name, ...value] = line.split(":");
    return [name.trim(), value.join(":").trim() || null];
  }));

  /** The fields of a form as JSON. An empty one is null if it may be, or left out. */
  function fields(form) {
    const body = {};
    for (const { name, value, type, checked, dataset } of form.elements) {
      if (!name) continue;
      const path = name.split(".");
      const last = path.pop();
      const into = path.reduce((object, member) => (object[member] ??= {}), body);
      if (type === "checkbox") { into[last] ??= []; if (checked) into[last].push(value); }
      else if ("secret" in dataset) into[last] = secret;
      else if (!value) { if ("nullable" in dataset) into[last] = null; }
      else if ("lines" in dataset) into[last] = lines(value);
      else if (type === "number" || "json" in dataset) into[last] = JSON.parse(value);
      else into[last] = type === "datetime-local" ? new Date(`${value}Z`).toISOString() : value;
    }
    return Object.keys(body).length || "body" in form.dataset ? body : undefined;
  }

  async function change(form) {
    const { method, action, question, reveals, next } = form.dataset;
    if (question && !(await opened(ask, question))) return;
    say("");
    try {
      const text = await send(method, action, fields(form));
      const reply = text ? JSON.parse(text) : {};
      const key = reveals ? reply.secret : reply.key;
      if (action === "/v1/keys/me") {
        signOut();
        return say("The key is revoked.");
      }
      if (key && action === "/v1/keys/me/rotate") secret = key;
      element("revealed").textContent = reveals ?? "The new key";
      if (key) await opened(reveal, key);
      reveal.querySelector("[data-text]").textContent = "";
      if (next) location.hash = next;
      else await show();
      say("Done.");
    } catch (error) {
      report(error);
    }
  }

  /** The address of the view that a form searches. */
  function target(form) {
    let path = form.dataset.view;
    const query = [];
    for (const { name, value } of form.elements) {
      if (!name || !value) continue;
      const encoded = encodeURIComponent(value);
      if (path.includes(`{${name}}`)) path = path.replace(`{${name}}`, encoded);
      else query.push(`${name}=${encoded}`);
    }
    return path + (query.length ? `?${query.join("&")}` : "");
  }

  document.addEventListener("submit", (event) => {
    const form = event.target;
    event.preventDefault();
    if (form.id === "sign-in") {
      secret = element("secret").value.trim();
      form.reset();
      say("");
      show();
    } else if (form.dataset.action) change(form);
    else if (location.hash === `#${target(form)}`) show();
    else location.hash = target(form);
  });
  document.addEventListener("click", ({ target: { dataset, id } }) => {
    if (dataset.answer) document.querySelector("dialog[open]").close(dataset.answer);
    if (id === "sign-out") { signOut(); say("You are signed out."); problem.hidden = true; }
    if (id === "copy") navigator.clipboard.writeText(reveal.querySelector("[data-text]").textContent).then(() => { element("copied").textContent = "Copied."; });
  });
  addEventListener("hashchange", () => {
    problem.hidden = true;
    say("");
    if (secret) show();
  });
}
