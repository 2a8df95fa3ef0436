// The preview of a page in a frame of the console.
"use strict";
/** Shows a page in a frame that runs no script. The console's policy holds there too: its style becomes a sheet, and pictures of other hosts are left out. */
const showPreview = (frame, { text, type }) => {
  // Texts of people are escaped: this is the page's own style, which the policy forbids a parsed page to have.
  const [head, style, rest] = text.split(/<\/?style>/);
  const page = fragment.parse({ text: head + rest, type });
  const { contentDocument, contentWindow } = frame;
  const place = contentWindow.scrollY;
  contentDocument.open();
  contentDocument.write(fragment.doctype());
  contentDocument.close();
  const sheet = new contentWindow.CSSStyleSheet();
  sheet.replaceSync(style);
  for (const image of page.images) if (!image.src.startsWith(`${location.origin}/i/`)) image.removeAttribute("src");
  for (const link of page.querySelectorAll("a")) link.removeAttribute("href");
  for (const part of page.querySelectorAll("link, script, base, iframe, frame, object, embed, meta[http-equiv]")) part.remove();
  contentDocument.adoptedStyleSheets = [sheet];
  contentDocument.documentElement.replaceWith(contentDocument.adoptNode(page.documentElement));
  contentWindow.scrollTo(0, place);
};
