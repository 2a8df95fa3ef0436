// Gives accounts a store as an earlier version of the worker left it, and shows what has become of it.

import { readFileSync } from "node:fs";
import path from "node:path";

/**
 * The worker of pages as it was built, whose object of one account begins with the store of an earlier version: the statements in a
 * file. The name of the account is in the file's first line. `GET /test/account-store?account=…` shows an account's tables.
 */
const wrapper = (account, statements) => `
import { WorkerEntrypoint } from "cloudflare:workers";
import Worker, { Account as Real } from "./index.js";
export * from "./index.js";

const tables = (sql) => sql.exec("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE '\\\\_cf\\\\_%' ESCAPE '\\\\' ORDER BY name").toArray();

export class Account {
  constructor(state, env) {
    this.sql = state.storage.sql;
    const isStored = state.id.equals(env.ACCOUNT.idFromName(${JSON.stringify(account)}));
    if (isStored && tables(this.sql).length === 0) this.sql.exec(${JSON.stringify(statements)});
    this.real = new Real(state, env);
  }
  fetch(request) {
    if (new URL(request.url).pathname !== "/test/account-store") return this.real.fetch(request);
    const migrations = this.sql.exec("SELECT COUNT(*) AS count FROM migration").one().count;
    return Response.json({ migrations, tables: tables(this.sql) });
  }
  alarm() { return this.real.alarm(); }
}

export default class extends WorkerEntrypoint {
  fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/test/account-store") return this.env.ACCOUNT.getByName(searchParams.get("account")).fetch(request);
    return Worker.fetch(request, this.env, this.ctx);
  }
}
`;

/** The workers, with the store that `file` describes. The gateway hands over the path that it does not know. */
export function withStoredAccount([gateway, pages], file) {
  const text = readFileSync(file, "utf8");
  const [, account] = text.match(/^-- account (\S+)\n/);
  const statements = text.replaceAll(/^--.*\n/gm, "");
  const modules = [
    { type: "ESModule", path: path.join(pages.modulesRoot, "stored_account.js"), contents: wrapper(account, statements) },
    ...pages.modules,
  ];
  return [gateway, { ...pages, modules }];
}
