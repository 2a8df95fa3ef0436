/** A refusal of the API (RFC 9457), or a request without a response. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly requestId: string;
  readonly errors: Fault[];
  readonly suggestions: string[];
  /** The ETag of what is stored now, of a change that was too late. */
  readonly etag: string;

  constructor(members: Partial<Problem> & { request_id?: string } = {}, etag = "") {
    super(members.title ?? "Problem");
    this.status = members.status ?? 0;
    this.code = members.code ?? "";
    this.title = members.title ?? "The gateway cannot be reached";
    this.detail = members.detail ?? "";
    this.requestId = members.request_id ?? "";
    this.errors = members.errors ?? [];
    this.suggestions = members.suggestions ?? [];
    this.etag = etag;
  }
}

/** What is wrong with one value of a request. */
export interface Fault {
  /** A JSON Pointer as a URI fragment, such as `#/links/1/url`. */
  pointer: string;
  detail: string;
}

/** Returns what was caught as a problem. */
export function problemOf(caught: unknown): Problem {
  if (caught instanceof Problem) return caught;
  const detail = navigator.onLine ? "Try again in a moment." : "This device is offline.";
  return new Problem({ title: "The gateway cannot be reached", detail });
}
