// The console: signs in with a key, which the variable `secret` holds, or stays signed in by a cookie that no script can read and
// that has no key, and shows what the server renders.
"use strict";
{
  const element = (id) => document.getElementById(id);
  const [view, status, problem, ask, reveal, again] = ["view", "status", "problem", "ask", "reveal", "again"].map(element);
  const SESSION = "/console/session";
  let secret = "";
  let isKept = false;
  let turn = 0;
  let timer = 0;
  /** The form of a template with what is not saved yet. */
  let edited;
  /** The id of the link that sorts the view to come. */
  let sorter = "";
  let drawing = 0;
  let drawn = 0;

  const isKey = () => isKept || secret.startsWith("utg_");
  const home = () => (isKey() ? "/v1/keys/me" : "/v1/keys");
  const isOfAdmin = (path) => /^\/(admin\/|v1\/(keys($|[?]|\/key_)|status\/incidents))/.test(path);

  /** The path of the view that the address names, or that of the role's first view. */
  function current() {
    const path = location.hash.slice(1);
    const isOwn = path === "/v1/status" || isOfAdmin(path) !== isKey();
    const isView = path.startsWith("/") && new URL("/console" + path, location).pathname.startsWith("/console/");
    return isView && isOwn ? path : home();
  }

  /** Sends a request, whose body is a file, or JSON. `match` is the ETag of what it changes. */
  async function send(method, path, body, match, credential = secret) {
    const own = isKey() ? { "X-API-Key": credential } : { Authorization: `Bearer ${credential}` };
    const headers = credential ? own : {};
    if (body) headers["Content-Type"] = body.type ?? "application/json";
    if (match) headers["If-Match"] = match;
    const response = await fetch(path, { method, headers, body, credentials: "same-origin", redirect: "error" });
    const [text, etag, type] = [await response.text(), response.headers.get("etag"), response.headers.get("content-type")];
    if (response.ok) return { text, etag, type };
    throw Object.assign(new Error(), text.startsWith("{") ? JSON.parse(text) : { title: `Status ${response.status}` }, { etag });
  }

  /** Shows the view again. A quiet one replaces only what changes by itself. */
  async function show(isQuiet = false) {
    clearTimeout(timer);
    turn += 1;
    const own = turn;
    const path = current();
    view.ariaBusy = "true";
    try {
      const response = await send("GET", "/console" + path);
      if (own !== turn) return;
      const body = fragment.view(response);
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
    markCurrent([...document.querySelectorAll("#menu a")], path);
    view.replaceChildren(...body.childNodes);
    edited = undefined;
    for (const form of view.querySelectorAll("[data-template]")) {
      form.append(element(form.dataset.template).content.cloneNode(true));
      forms.fill(form, JSON.parse(form.dataset.value));
    }
    draw();
    const heading = view.querySelector("h2");
    // A heading that has sorted the list keeps the focus, to sort it the other way round.
    (element(sorter) ?? heading)?.focus();
    sorter = "";
    document.title = `${heading?.textContent ?? "Console"} – Console`;
  }

  /** Marks the link that leads to the view, or to the one that is above it and the nearest. */
  function markCurrent(links, path) {
    const folder = (address) => `${address.split("?")[0]}/`;
    const own = (link) => folder(link.hash.slice(1));
    const above = links.map(own).filter((address) => folder(path).startsWith(address));
    const [nearest] = above.sort((one, other) => other.length - one.length);
    for (const link of links) link.ariaCurrent = own(link) === nearest ? "page" : null;
  }

  const refreshLater = (delay) => (view.querySelector("[data-refresh]") ? setTimeout(refresh, delay) : 0);

  function refresh() {
    if (document.visibilityState === "visible" && !ask.open) show(true);
    else timer = refreshLater(1000);
  }

  /** Shows a problem: what is wrong with a field at the field, the rest above the view. */
  function report(error, form) {
    const line = (text, name = "p") => Object.assign(document.createElement(name), { textContent: text });
    const errors = form ? forms.point(form, error.errors ?? []) : (error.errors ?? []);
    const more = line("", "p");
    if (error.code) more.append(Object.assign(line(error.code, "a"), { href: `/problems/${error.code}` }), ` · request ${error.request_id}`);
    const list = line("", "ul");
    list.append(...errors.map((fault) => line(`${fault.pointer ?? ""} ${fault.detail}`.trim(), "li")));
    problem.replaceChildren(line(error.title ?? "The gateway cannot be reached", "strong"), line(error.detail ?? error.message), list, more);
    problem.hidden = false;
    say("");
    if ((error.status === 401 && !error.isTyped) || error.code === "admin-secret-invalid") signOut();
  }

  function say(text) {
    status.textContent = text;
    if (text) problem.hidden = true;
  }

  /** Has the browser keep the key. */
  async function keep() {
    await send("PUT", SESSION);
    isKept = true;
    secret = "";
  }

  async function enter(isToKeep) {
    try {
      if (isToKeep) await keep();
      await show();
    } catch (error) {
      report(error);
    }
  }

  function signOut() {
    if (isKept) send("DELETE", SESSION).catch(report);
    isKept = false;
    secret = "";
    edited = undefined;
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

  /** Sends a change. One for which a cookie is not enough is sent again with the key that the holder types. */
  async function sendChange(...request) {
    try {
      return await send(...request);
    } catch (error) {
      if (error.code !== "sign-in-required" || !(await opened(again, "For this the browser must send the key itself. Type the key that you have signed in with."))) throw error;
    }
    const field = element("again-secret");
    const typed = field.value.trim();
    field.value = "";
    const idOf = async (key) => JSON.parse((await send("GET", "/v1/keys/me", undefined, undefined, key)).text).id;
    try {
      if ((await idOf(typed)) !== (await idOf(""))) throw Object.assign(new Error(), { title: "This is another key", detail: "Nothing was changed." });
      return await send(...request, typed);
    } catch (error) {
      throw Object.assign(error, { isTyped: true });
    }
  }

  async function change(form, pressed) {
    const { method, action, question, template, reveals, next } = form.dataset;
    if (question && !(await opened(ask, question))) return;
    say(next ? "Waiting." : "");
    try {
      const body = JSON.stringify(forms.read(form, pressed));
      const { text, etag } = await sendChange(method, action, body === "{}" ? undefined : body, form.dataset.match);
      const made = text ? JSON.parse(text) : {};
      if (action === "/v1/keys/me") {
        signOut();
        return say("The key is revoked.");
      }
      if (action === "/console/sessions") {
        signOut();
        return say("All browsers are signed out.");
      }
      if (made.key && action === "/v1/keys/me/rotate") secret = made.key;
      const once = reveals ? (made.secret ?? made.push?.secret) : made.key;
      element("revealed").textContent = reveals ?? "The new key";
      if (once) await opened(reveal, once);
      reveal.querySelector("[data-text]").textContent = "";
      // After it was shown, so that a new key is not lost if the browser cannot keep it.
      if (isKept && secret) await keep();
      if (made.push) made.push.secret = null;
      const stays = template && !next;
      if (stays) {
        forms.clear(form);
        forms.fill(form, made);
        form.dataset.match = etag ?? "";
        edited = undefined;
      }
      if (next) history.pushState(null, "", `#${next.replace("{id}", made.id)}`);
      // What is typed elsewhere in the view stays.
      await show(Boolean(stays || (edited && !next)));
      // The view of a test says what became of it.
      say(action.endsWith("/test") ? "" : "Done.");
    } catch (error) {
      if (error.status === 412) {
        form.dataset.match = error.etag;
        error.detail = "What you typed is still here. Save again to replace the other change, or reload the view to see it.";
      }
      report(error, form);
    }
  }

  /** Draws the preview of the form that is beside it. */
  async function draw() {
    clearTimeout(drawing);
    const frame = view.querySelector("iframe");
    if (!frame) return;
    drawn += 1;
    const own = drawn;
    const note = frame.nextElementSibling;
    // Ids are of what is stored, and a preview is not.
    const body = JSON.stringify(forms.read(frame.closest("form")), (name, value) => (name === "id" ? undefined : value));
    try {
      const response = await send("POST", "/console/preview", body);
      if (own === drawn && frame.isConnected) showPreview(frame, response);
      note.textContent = "";
    } catch (error) {
      note.textContent = error.errors ? "The preview follows when all fields are right." : (error.detail ?? "");
    }
  }

  /** Stores an image of the account, and puts its address into the field beside it. */
  async function upload(input) {
    try {
      const { text } = await send("POST", "/images", input.files[0]);
      const address = input.closest("fieldset").querySelector("[name$=url]");
      address.value = JSON.parse(text).url;
      input.value = "";
      forms.changed(address);
      say("The picture is stored.");
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
    if (form.method === "dialog") form.closest("dialog").close("yes");
    else if (form.id === "sign-in") {
      secret = element("secret").value.trim();
      const isToKeep = element("keep").checked && isKey();
      form.reset();
      say("");
      enter(isToKeep);
    } else if (form.dataset.action) change(form, event.submitter);
    else if (location.hash === `#${target(form)}`) show();
    else location.hash = target(form);
  });
  document.addEventListener("click", (event) => {
    const { dataset, id } = event.target;
    if (dataset.answer) document.querySelector("dialog[open]").close(dataset.answer);
    if (id === "sign-out") { signOut(); say("You are signed out."); problem.hidden = true; }
    if (id === "copy") navigator.clipboard.writeText(reveal.querySelector("[data-text]").textContent).then(() => { element("copied").textContent = "Copied."; });
    const link = event.target.closest("a[href^='#/']");
    sorter = link?.id ?? "";
    if (link && edited) {
      event.preventDefault();
      opened(ask, "Leave without saving?").then((leave) => { if (leave) location.hash = link.hash; });
    }
  });
  document.addEventListener("input", ({ target }) => {
    const form = target.closest("[data-template]");
    if (!form) return;
    edited = form;
    clearTimeout(drawing);
    drawing = setTimeout(draw, 500);
  });
  document.addEventListener("change", ({ target }) => { if (target.files?.length) upload(target); });
  addEventListener("beforeunload", (event) => { if (edited) event.preventDefault(); });
  addEventListener("hashchange", () => {
    problem.hidden = true;
    say("");
    if (secret || isKept) show();
  });
  send("GET", SESSION).then(({ text }) => {
    if (secret || isKept) return;
    isKept = JSON.parse(text).signed_in;
    if (isKept) show();
  }, report);
}
