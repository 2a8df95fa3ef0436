/** Who is signed in. A key is in the memory of this page alone, or the browser has a cookie that no script can read. */

export type Role = "key" | "admin";
/** What a gateway without an edge can do. */
export interface Direct {
  issues_keys: boolean;
  has_admin: boolean;
}

class Session {
  role = $state<Role | null>(null);
  /** Whether the browser stays signed in by its cookie. */
  isKept = $state(false);
  /** False until it is known whether there is a cookie. */
  isKnown = $state(false);
  /** Set if there is no edge: then there are no sessions, and few views. */
  direct = $state<Direct | null>(null);
  /** Resolves to the key that the holder types again; set while the dialog asks. */
  asked = $state<((key: string | null) => void) | null>(null);
  #secret = "";

  /** Returns the header that signs a request, if there is one. */
  header(credential = this.#secret): [name: string, value: string] | null {
    if (!credential) return null;
    return credential.startsWith("utg_")
      ? ["X-API-Key", credential]
      : ["Authorization", `Bearer ${credential}`];
  }

  async begin(): Promise<void> {
    try {
      const response = await fetch("/console/session", { credentials: "same-origin" });
      const { signed_in, direct } = (await response.json()) as { signed_in: boolean; direct?: Direct };
      this.direct = direct ?? null;
      if (signed_in) {
        this.isKept = true;
        this.role = "key";
      }
    } catch {
      // The form of sign-in is shown, and says what is wrong once it is sent.
    }
    this.isKnown = true;
  }

  /** Goes on with a credential that the API has accepted, which is forgotten if the browser has a cookie now. */
  enter(secret: string, role: Role, isKept: boolean): void {
    this.#secret = isKept ? "" : secret;
    this.isKept = isKept;
    this.role = role;
  }

  leave(): void {
    if (this.isKept) void fetch("/console/session", { method: "DELETE", credentials: "same-origin" });
    this.forget();
  }

  forget(): void {
    this.#secret = "";
    this.isKept = false;
    this.role = null;
  }

  /** Goes on with the new text of the key. */
  replace(secret: string): void {
    if (!this.isKept) this.#secret = secret;
  }

  askForKey(): Promise<string | null> {
    return new Promise((resolve) => {
      this.asked = (key) => {
        this.asked = null;
        resolve(key);
      };
    });
  }
}

export const session = new Session();
