import { vitePreprocess } from "@sveltejs/vite-plugin-svelte";

// docs/decisions/portal.md, "The web app is Svelte 5 with Bits UI".
export default {
  preprocess: vitePreprocess(),
  // docs/decisions/portal.md, "Elements are made one by one, and Trusted Types are required".
  // Elements are made one by one: nothing is ever parsed from a text, so the policy of the page can require Trusted Types.
  compilerOptions: { runes: true, fragments: "tree" },
};
