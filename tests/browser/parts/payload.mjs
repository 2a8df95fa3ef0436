// Texts that somebody else than the person at the screen writes, each with an element of its own in it. Where one becomes HTML, there
// is an element whose name begins with `x-`, and the browser is led to HOST.

/** A host that no test has: a request to it is a finding. */
export const HOST = "x.example";

/**
 * Every text by its name: who writes it, and where it is read as a text. `views` are those of the console. `pages` are other pages of the
 * service, which show what `isPublic` too. Another value is the read of the API that has it, because no view shows it. Nobody keeps what says `nothing`.
 */
export const TEXTS = {
  utm_source: { by: "visitor", at: "views" },
  utm_medium: { by: "visitor", at: "views" },
  utm_campaign: { by: "visitor", at: "views" },
  utm_term: { by: "visitor", at: "/analytics?group_by=utm_term" },
  utm_content: { by: "visitor", at: "/analytics?group_by=utm_content" },
  referer: { by: "visitor", at: "nothing" },
  user_agent: { by: "visitor", at: "nothing" },
  language: { by: "visitor", at: "nothing" },
  via: { by: "visitor", at: "nothing" },
  path: { by: "visitor", at: "nothing" },
  report: { by: "visitor", at: "views" },
  query: { by: "author of a link to the console", at: "views" },
  page_head: { by: "owner of a page", at: "views", isPublic: true },
  page_seo: { by: "owner of a page", at: "views" },
  page_bio: { by: "owner of a page", at: "views", isPublic: true },
  page_link: { by: "owner of a page", at: "views", isPublic: true },
  page_note: { by: "owner of a page", at: "views" },
  page_code: { by: "owner of a page", at: "views" },
  page_shop: { by: "owner of a page", at: "views", isPublic: true },
  webhook: { by: "owner of a page", at: "views" },
  secret: { by: "owner of a key", at: "views" },
  response: { by: "receiver", at: "views" },
  feed_title: { by: "feed", at: "views", isPublic: true },
  feed_fault: { by: "feed", at: "views" },
  feed_error: { by: "feed", at: "nothing" },
  key_name: { by: "administrator", at: "views" },
  incident_title: { by: "administrator", at: "views", isPublic: true },
  incident_message: { by: "administrator", at: "views", isPublic: true },
  suspension: { by: "administrator", at: "views" },
  tool_title: { by: "tool", at: "pages" },
  tool_action: { by: "tool", at: "pages" },
  tool_parameter: { by: "tool", at: "pages" },
  tool_schema: { by: "tool", at: "pages" },
  tool_example: { by: "tool", at: "pages" },
  tool_response: { by: "tool", at: "nothing" },
};

/** The text of that name in at most `room` characters. It ends attributes and elements that hold texts, makes an element, and leads away. */
export function payload(name, room = 100) {
  const ends = room <= 80 ? "\"'></title>" : "\"'></textarea></title>";
  const text = `${ends}<x-${name}><meta http-equiv=refresh content=0;//${HOST}>`;
  if (!TEXTS[name] || text.length > room) throw new Error(`${name}: TEXTS lack it, or it has ${text.length} characters`);
  return text;
}

/** Looks for texts in a page and its frames: those that are shown as texts, and those that have become elements. Runs in the page. */
export function look() {
  const [texts, elements] = [new Set(), new Set()];
  const add = (set, found) => { for (const [, name] of found) set.add(name); };
  const search = (root) => {
    for (const part of root.querySelectorAll("*")) {
      if (part.localName.startsWith("x-")) elements.add(part.localName);
      if (part.localName === "meta" && part.httpEquiv) elements.add(`meta ${part.httpEquiv}`);
      if (part.content?.querySelectorAll) search(part.content);
      if (part.contentDocument) search(part.contentDocument);
      if (typeof part.value === "string") add(texts, part.value.matchAll(/<x-(\w+)>/g));
    }
    add(texts, (root.body ?? root.documentElement ?? root).textContent.matchAll(/<x-(\w+)>/g));
  };
  search(document);
  return { texts: [...texts], elements: [...elements] };
}
