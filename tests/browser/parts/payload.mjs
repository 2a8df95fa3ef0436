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

/** Responses that no renderer of ours makes, whatever becomes of the server: media type, and text. */
export const STRANGERS = {
  table: ["text/csv; charset=utf-8; header=present", "<h2>View</h2>"],
  json: ["application/json", "<h2>View</h2>"],
  untyped: ["", "<h2>View</h2>"],
  page: ["text/html", "<h2>View</h2>"],
  element: ["text/html; charset=utf-8", "<h2>View</h2><x-element>"],
  refresh: ["text/html; charset=utf-8", "<h2>View</h2><meta http-equiv=refresh content=0;//x.example>"],
  head: ["text/html; charset=utf-8", "<meta http-equiv=refresh content=0;//x.example><h2>View</h2>"],
  base: ["text/html; charset=utf-8", "<h2>View</h2><base href=//x.example>"],
  frame: ["text/html; charset=utf-8", "<h2>View</h2><iframe src=//x.example></iframe>"],
  frameset: ["text/html; charset=utf-8", "<frameset><frame src=//x.example></frameset>"],
  template: ["text/html; charset=utf-8", "<h2>View</h2><template><x-template></template>"],
  image: ["text/html; charset=utf-8", "<h2>View</h2><img src=//x.example>"],
  handler: ["text/html; charset=utf-8", "<h2>View</h2><svg onload=alert(1)></svg>"],
  vector: ["text/html; charset=utf-8", "<h2>View</h2><svg><a href=//x.example><title>a</title></a></svg>"],
  script: ["text/html; charset=utf-8", "<h2>View</h2><script>alert(1)</script>"],
  link: ["text/html; charset=utf-8", "<h2>View</h2><a href=javascript:alert(1)>a</a>"],
  secret: ["text/html; charset=utf-8", "<h2>View</h2><form data-method=POST data-action=/webhooks><input name=url data-secret></form>"],
  call: ["text/html; charset=utf-8", "<h2>View</h2><form data-method=POST data-action=/v1/qr/generate></form>"],
  elsewhere: ["text/html; charset=utf-8", "<h2>View</h2><form data-method=POST data-action=//x.example/webhooks></form>"],
  dots: ["text/html; charset=utf-8", "<h2>View</h2><form data-method=POST data-action=/webhooks/../pages></form>"],
  command: ["text/html; charset=utf-8", "<h2>View</h2><button data-do=remove>a</button>"],
  away: ["text/html; charset=utf-8", "<h2>View</h2><form action=//x.example><button>a</button></form>"],
  erasure: ["text/html; charset=utf-8", "<h2>View</h2><form data-method=DELETE data-action=/account/data></form>"],
};

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
