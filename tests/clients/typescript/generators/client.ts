// What each generated client is asked to do. A generator's file does it with what that generator makes of the descriptions.

/** The parts of a problem that tests look at, read from the type that the generator has for it. */
export interface Problem {
  status: number;
  code: string;
  /** The faulty fields of a 422. */
  pointers: string[];
}

/** The value of a call, or the problem. */
export type Result<T> = { value: T } | { problem: Problem };

/** A part of a list, and where the next one begins. */
export interface Part {
  ids: string[];
  next: string | null;
}

export type Metric = "views" | "visitors" | "clicks";
export type Group = "country" | "device" | "link";

export interface Client {
  /** A tool's response: bytes. */
  qrCode(url: string): Promise<Result<Blob>>;
  ownKey(): Promise<Result<{ id: string; limit: number | null }>>;
  /**
   * A call that the demo tool responds to with this status: the status, and the code if the problem is the gateway's. Only with
   * generators whose clients write an object as several parameters.
   */
  callForStatus?(code: number): Promise<[number, string | null]>;
}

export interface Administration {
  issueKey(email: string): Promise<Result<{ id: string; key: string }>>;
  listKeys(limit: number, cursor?: string): Promise<Result<Part>>;
}

export interface Pages {
  createPage(title: string): Promise<Result<{ id: string; qr: string }>>;
  listPages(limit: number, cursor?: string): Promise<Result<Part>>;
  /** Returns the names of the totals and of the groups. */
  readAnalytics(pages: string[], metrics: Metric[], groups: Group[]): Promise<Result<{ totals: string[]; groups: string[] }>>;
  /** A creation that is only tried has no secret. */
  createWebhook(url: string, isTried: boolean): Promise<Result<{ secret: string | null }>>;
  exportAccount(): Promise<Result<Blob>>;
}

export interface Generated {
  client(baseUrl: string, key: string): Client;
  administration(baseUrl: string, adminSecret: string): Administration;
  pages(baseUrl: string, key: string): Pages;
}

/** What the schema `Problem` of both descriptions has. */
interface DescribedProblem {
  status: number;
  code: string;
  errors?: { pointer: string; detail: string }[];
}

export const refused = ({ status, code, errors }: DescribedProblem): { problem: Problem } => ({
  problem: { status, code, pointers: (errors ?? []).map((fault) => fault.pointer) },
});
