// The usual design: one KV read and one call of the key's object for each request, which counts it in a row.
import { DurableObject } from "cloudflare:workers";
import { ask, gateway } from "./gateway.js";

const record = (key, env) => env.KEYS.get(`key:${key.id}`, { type: "json", cacheTtl: 60 });

export default gateway({
  admit: async (key, env) => ask(env, key.id, { take: 1, limits: (await record(key, env)).limits }),
  describe: async (key, env) => ask(env, key.id, { take: 0, limits: (await record(key, env)).limits }),
});

export class Meter extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    this.sql = ctx.storage.sql;
    this.sql.exec("CREATE TABLE IF NOT EXISTS state (k INTEGER PRIMARY KEY, day INTEGER, used INTEGER)");
    this.state = this.sql.exec("SELECT day, used FROM state").toArray()[0] ?? { day: 0, used: 0 };
  }

  async fetch(request) {
    const { take, limits } = await request.json();
    const now = Date.now();
    const day = Math.floor(now / 86_400_000);
    if (this.state.day !== day) this.state = { day, used: 0 };
    const limit = limits?.day ?? 1e9;
    const allowed = this.state.used + take <= limit;
    if (allowed && take) {
      this.state.used += take;
      this.sql.exec("INSERT INTO state VALUES (1, ?, ?) ON CONFLICT (k) DO UPDATE SET day = excluded.day, used = excluded.used", day, this.state.used);
    }
    return Response.json({ allowed, quota: { limit, remaining: limit - this.state.used, reset: (day + 1) * 86_400 } });
  }
}
