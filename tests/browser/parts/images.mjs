// The host of a page's images: pages take images from public https addresses only, so Chromium is told that one of these
// is on this machine.
import { Miniflare } from "miniflare";

const HOST = "images.example.com";

/** An image that looks like something on a screenshot; its colors follow from its name. */
const SCRIPT = `
function draw(name) {
  const hue = [...name].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 360, 7);
  return \`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 320" width="320" height="320">
    <defs><linearGradient id="g" x2="1" y2="1"><stop stop-color="hsl(\${hue} 70% 70%)"/><stop offset="1" stop-color="hsl(\${hue + 60} 65% 40%)"/></linearGradient></defs>
    <rect width="320" height="320" fill="url(#g)"/>
    <circle cx="160" cy="130" r="60" fill="#fffc"/><path d="M50 320a110 110 0 0 1 220 0z" fill="#fff9"/></svg>\`;
}
export default {
  fetch(request) {
    const headers = { "content-type": "image/svg+xml", "cache-control": "public, max-age=31536000" };
    return new Response(draw(new URL(request.url).pathname), { headers });
  },
};`;

/** Starts it. `args` are the options of a Chromium that finds it. */
export async function startImages() {
  const server = new Miniflare({ modules: true, script: SCRIPT, https: true, host: "127.0.0.1", port: 0, cf: false });
  const { port } = await server.ready;
  return {
    args: [`--host-resolver-rules=MAP ${HOST} 127.0.0.1:${port}`, "--ignore-certificate-errors"],
    end: () => server.dispose(),
  };
}

/** The address of an image of that name. */
export const image = (name) => `https://${HOST}/${name}.svg`;
