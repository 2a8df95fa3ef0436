// The search and the forms of the reference. Keys stay in variables of this script: they are in no storage and no address.
"use strict";
{
  const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };

  const failure = (error) => make("p", { className: "bad" }, String(error));

  let index;

  /** Returns all places of the reference: title, page or route, address, words. They are read once. */
  const readPlaces = () => (index ??= fetch("/assets/search.json").then((response) => response.json()));

  /** Shows links to the places that have every word of the search, those with a word in their title first. */
  const startSearch = (box, contents) => {
    const input = box.querySelector("input");
    const result = box.querySelector("output");
    const list = box.querySelector("ul");
    const show = async () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const places = words.length > 0 ? await readPlaces() : [];
      const isFound = (place) => words.every((word) => place.join(" ").toLowerCase().includes(word));
      const rank = ([title]) => words.filter((word) => title.toLowerCase().includes(word)).length;
      const found = places.filter(isFound).sort((one, other) => rank(other) - rank(one));
      const entry = ([title, page, address]) => make("li", {}, make("a", { href: address }, title, make("small", {}, page)));
      list.replaceChildren(...found.slice(0, 40).map(entry));
      contents.hidden = words.length > 0;
      result.value = words.length > 0 ? `${found.length} found` : "";
    };
    input.addEventListener("focus", readPlaces, { once: true });
    input.addEventListener("input", show);
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") list.querySelector("a")?.click();
    });
    box.hidden = false;
  };

  /** Follows an address of before the place had moved to a page of its own. */
  const followMoved = async () => {
    const { hash } = location;
    if (hash.length < 2 || document.getElementById(hash.slice(1))) return;
    const moved = (await readPlaces()).find(([, , address]) => address.endsWith(hash));
    if (moved) location.replace(moved[2]);
  };

  /** Adds a button that copies code. */
  const addCopy = (pre) => {
    const button = make("button", { type: "button", className: "copy" }, "Copy");
    button.addEventListener("click", async () => {
      const code = [...pre.childNodes].filter((node) => node !== button).map((node) => node.textContent);
      await navigator.clipboard.writeText(code.join(""));
      button.textContent = "Copied";
    });
    pre.prepend(button);
  };

  const secrets = { ApiKey: "", AdminSecret: "" };
  let description;

  /** Returns the OpenAPI description of this page's operations, which is fetched once. */
  const describe = (path) => (description ??= fetch(path).then((response) => response.json()));

  const resolve = (all, value) =>
    value.$ref ? value.$ref.slice(2).split("/").reduce((found, name) => found[name], all) : value;

  const find = (all, id) => {
    for (const [path, item] of Object.entries(all.paths)) {
      for (const [method, operation] of Object.entries(item)) {
        if (operation.operationId === id) return { path, method: method.toUpperCase(), operation };
      }
    }
  };

  const authorize = (headers, scheme) => {
    if (scheme === "ApiKey") headers.set("X-API-Key", secrets.ApiKey);
    if (scheme === "AdminSecret") headers.set("Authorization", `Bearer ${secrets.AdminSecret}`);
    return headers;
  };

  /** Replaces the made-up id of an example by the first one of the list that the path leads through. */
  const fillId = async (all, path, scheme, parameter) => {
    const list = path.slice(0, path.indexOf("/{"));
    if (!parameter || !all.paths[list]?.get || !secrets[scheme]) return;
    const options = { headers: authorize(new Headers(), scheme), cache: "no-store" };
    const response = await fetch(list, options).catch(() => ({ ok: false }));
    const items = response.ok ? Object.values(await response.json()).find(Array.isArray) : [];
    if (items?.[0]?.id && parameter.input.value === text(parameter.example)) parameter.input.value = items[0].id;
  };

  let fields = 0;
  const field = (text, input) => {
    input.id = `try-${(fields += 1)}`;
    return [make("label", { htmlFor: input.id }, text), input];
  };

  const text = (value) => (value === undefined ? "" : String(value));

  const showResponse = async (output, response, started) => {
    const type = response.headers.get("content-type") ?? "";
    const lines = [...response.headers].map(([name, value]) => `${name}: ${value}`);
    const isText = /^$|^text\/|json|xml/.test(type);
    let body = isText ? await response.text() : `${(await response.blob()).size} bytes of ${type}`;
    // NDJSON has several values, and is shown as it is.
    if (/[/+]json/.test(type)) body = JSON.stringify(JSON.parse(body), null, 2);
    const status = `${response.status} ${response.statusText} · ${Math.round(performance.now() - started)} ms`;
    output.replaceChildren(
      make("p", { className: response.ok ? "good" : "bad" }, status),
      make("h4", {}, "Headers"),
      make("pre", {}, lines.join("\n")),
      make("h4", {}, "Body"),
      make("pre", {}, body || "(empty)"),
    );
  };

  /** Builds the form of an operation from its description. */
  const buildForm = (all, id) => {
    const { path, method, operation } = find(all, id);
    const form = make("form", { className: "form" });
    const scheme = Object.keys(operation.security?.[0] ?? {})[0];
    if (scheme) {
      const label = `${scheme === "ApiKey" ? "Your API key" : "Admin secret"} (stays in this page)`;
      const input = make("input", { type: "password", autocomplete: "off", value: secrets[scheme], required: true });
      input.dataset.scheme = scheme;
      input.addEventListener("change", () => fillId(all, path, scheme, inPath()));
      input.addEventListener("input", () => {
        secrets[scheme] = input.value;
        for (const other of document.querySelectorAll(`[data-scheme=${scheme}]`)) other.value = input.value;
      });
      form.append(...field(label, input));
    }
    const inputs = (operation.parameters ?? []).map((reference) => {
      const parameter = resolve(all, reference);
      const isRaw = parameter.schema?.type === "object";
      const { example } = parameter;
      const input = make("input", { required: Boolean(parameter.required), autocomplete: "off" });
      if (isRaw) input.value = new URLSearchParams(example).toString();
      else if (parameter.required) input.value = text(example);
      else input.placeholder = text(example ?? parameter.schema?.default);
      form.append(...field(`${parameter.name} (${parameter.in}${parameter.required ? ", required" : ""})`, input));
      return { ...parameter, isRaw, input };
    });
    const inPath = () => inputs.find(({ in: place }) => place === "path");
    fillId(all, path, scheme, inPath());
    const content = operation.requestBody?.content?.["application/json"];
    const area = content && make("textarea", { rows: 10, value: JSON.stringify(content.example ?? {}, null, 2) });
    if (area) form.append(...field("Body (JSON)", area));
    const isFile = !content && operation.requestBody?.content?.["application/octet-stream"];
    const file = isFile && make("input", { type: "file", required: true });
    if (file) form.append(...field("Body (a file)", file));
    const output = make("div", { className: "output" });
    output.setAttribute("role", "status");
    form.append(make("p", {}, make("button", {}, `Send ${method}`)), output);

    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const headers = new Headers();
      const query = [];
      let target = path;
      for (const { name, in: place, input, isRaw } of inputs) {
        if (place === "path") target = target.replace(`{${name}}`, encodeURIComponent(input.value));
        else if (input.value === "") continue;
        else if (place === "header") headers.set(name, input.value);
        else query.push(isRaw ? input.value : `${name}=${encodeURIComponent(input.value)}`);
      }
      authorize(headers, scheme);
      if (area) headers.set("Content-Type", "application/json");
      if (file) headers.set("Content-Type", "application/octet-stream");
      const started = performance.now();
      output.replaceChildren("…");
      try {
        const address = query.length > 0 ? `${target}?${query.join("&")}` : target;
        const options = { method, headers, body: file ? file.files[0] : area?.value, credentials: "omit", cache: "no-store" };
        await showResponse(output, await fetch(address, options), started);
      } catch (error) {
        output.replaceChildren(failure(error));
      }
    });
    return form;
  };

  /** Adds "Try it" to an operation. Its form is made when it is first opened. */
  const startTrying = (section, path) => {
    const details = make("details", { className: "try" }, make("summary", {}, "Try it"));
    const open = async () => details.append(await describe(path).then((all) => buildForm(all, section.id), failure));
    details.addEventListener("toggle", open, { once: true });
    section.append(details);
  };

  const box = document.getElementById("search");
  const contents = document.getElementById("contents");
  followMoved();
  startSearch(box, contents);
  // A page over plain HTTP has no clipboard.
  if (navigator.clipboard) document.querySelectorAll("main pre").forEach(addCopy);
  const reference = document.querySelector("[data-description]");
  for (const section of document.querySelectorAll("section.op")) startTrying(section, reference.dataset.description);
}
