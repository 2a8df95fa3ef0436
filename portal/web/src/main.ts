import { mount } from "svelte";
import App from "./App.svelte";
import "./tokens.css";
import "./app.css";

// A button that waits for a response keeps the focus, which `disabled` would take away, and does nothing.
const ignore = (event: Event) => {
  if (!(event.target instanceof Element && event.target.closest('[aria-disabled="true"]'))) return;
  event.preventDefault();
  event.stopPropagation();
};
document.addEventListener("click", ignore, { capture: true });

const target = document.getElementById("app");
if (target) mount(App, { target });
