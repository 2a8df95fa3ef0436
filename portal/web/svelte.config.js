import { vitePreprocess } from "@sveltejs/vite-plugin-svelte";

export default {
  preprocess: vitePreprocess(),
  // Elements are made one by one: nothing is ever parsed from a text, so the policy of the page can require Trusted Types.
  compilerOptions: { runes: true, fragments: "tree" },
};
