import { svelte } from "@sveltejs/vite-plugin-svelte";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** The gateway that `npm run dev` sends calls to. */
const EDGE = process.env.EDGE_URL ?? "http://127.0.0.1:8787";
const API =
  "^/(v1|pages|account|domains|images|analytics|webhooks|events|admin|i|q|s|console/(session|sessions|preview))(/|$|\\?)";

/** Takes styles out of the markup of Bits UI: the policy of the page refuses them as attributes. `app.css` has them. */
const withoutStyles: Plugin = {
  name: "without-styles",
  enforce: "pre",
  transform(code, id) {
    if (!/\/bits-ui\/.*\.svelte$/.test(id)) return null;
    return { code: code.replaceAll('<div style="display: contents;"', "<div data-contents"), map: null };
  },
};

export default defineConfig({
  base: "/console/",
  plugins: [withoutStyles, svelte()],
  build: {
    target: "es2023",
    assetsDir: "assets",
    // The policy of the page allows no `data:` address.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // One file for what every view needs, so that a first visit makes few requests.
        codeSplitting: {
          groups: [{ name: "svelte", test: /node_modules\/(svelte|esm-env|clsx)\//, priority: 2 }],
        },
      },
    },
  },
  server: { proxy: { [API]: EDGE } },
  test: { environment: "node", include: ["tests/**/*.test.ts"] },
});
