/** Shows a page of the service in a frame that runs no script. The policy of the console holds there too. */
import picture from "../picture.svg";

/** What a page shows for a picture that does not come, as a file: the policy allows no `data:` address. */
const PICTURE = `url("${new URL(picture, location.origin).href}")`;

// The one place where a text becomes a document: the page as the service has rendered it. Nothing of it gets into the console itself.
const policy = globalThis.trustedTypes?.createPolicy("preview", { createHTML: (text) => text });
const trusted = (text: string): string => (policy ? (policy.createHTML(text) as unknown as string) : text);

/** Prepares a frame: a document of today's mode, which a new frame does not have. */
export function emptyFrame(frame: HTMLIFrameElement): void {
  frame.srcdoc = trusted("<!doctype html><html><head><title>Preview</title></head><body></body></html>");
}

export function showPage(frame: HTMLIFrameElement, html: string): void {
  const { contentDocument: own, contentWindow: view } = frame;
  if (!own || !view) return;
  // Texts of people are escaped: the first style is the page's own, which the policy forbids a parsed page to have.
  const [head = "", style = "", rest = ""] = html.split(/<\/?style>/);
  const page = new DOMParser().parseFromString(trusted(head + rest), "text/html");
  for (const image of page.images)
    if (!image.src.startsWith(`${location.origin}/i/`)) image.removeAttribute("src");
  for (const link of page.querySelectorAll("a")) link.removeAttribute("href");
  for (const part of page.querySelectorAll(
    "link, script, base, iframe, frame, object, embed, meta[http-equiv], style",
  ))
    part.remove();
  const sheet = new (view as Window & typeof globalThis).CSSStyleSheet();
  sheet.replaceSync(style.replaceAll(/url\("data:[^"]*"\)/g, PICTURE));
  const place = view.scrollY;
  own.adoptedStyleSheets = [sheet];
  own.documentElement.replaceWith(own.adoptNode(page.documentElement));
  view.scrollTo(0, place);
}
