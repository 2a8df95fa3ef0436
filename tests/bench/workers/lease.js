// Our scheme by hand: the key's object lends calls to an isolate, which admits them without asking. A Free key has no
// leases: its object decides on each call. A refusal is remembered in the isolate.
import { DurableObject } from "cloudflare:workers";
import { ask, gateway } from "./gateway.js";

const LEASE_MS = 10_000;
const RENEW_BELOW = 0.35;
const DENIED_MS = 30_000;

const holders = new Map();

async function holderOf(key, env) {
  let holder = holders.get(key.id);
  if (!holder) {
    const record = await env.KEYS.get(`key:${key.id}`, { type: "json", cacheTtl: 60 });
    holders.set(key.id, (holder = { record, id: crypto.randomUUID(), left: 0, size: 0, until: 0, deniedUntil: 0, quota: null, spent: 0, isRenewing: false }));
  }
  return holder;
}

/** Asks the object: for one call, or to renew the lease with what was spent of it. */
async function request(key, env, holder, take) {
  const sent = Date.now();
  const { spent } = holder;
  holder.spent = 0;
  const reply = await ask(env, key.id, { holder: holder.id, take, spent, tier: key.tier, limits: holder.record.limits });
  holder.quota = reply.quota;
  if (reply.lease) {
    holder.left = holder.size = reply.lease;
    holder.until = sent + LEASE_MS - 250;
  }
  if (!reply.allowed) holder.deniedUntil = sent + DENIED_MS;
  return reply;
}

async function renew(key, env, holder) {
  holder.isRenewing = true;
  try {
    await request(key, env, holder, 0);
  } finally {
    holder.isRenewing = false;
  }
}

export async function admit(key, env, ctx) {
  const holder = await holderOf(key, env);
  const now = Date.now();
  if (now < holder.deniedUntil) return { allowed: false, quota: holder.quota };
  if (holder.left < 1 || now >= holder.until) return request(key, env, holder, 1);
  holder.left -= 1;
  holder.spent += 1;
  holder.quota.remaining -= 1;
  if (holder.left < holder.size * RENEW_BELOW && !holder.isRenewing) ctx.waitUntil(renew(key, env, holder));
  return { allowed: true, quota: holder.quota };
}

export const describe = async (key, env) => request(key, env, await holderOf(key, env), 0);

export default gateway({ admit, describe });

export class Meter extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    this.sql = ctx.storage.sql;
    this.sql.exec("CREATE TABLE IF NOT EXISTS state (k INTEGER PRIMARY KEY CHECK (k = 1), j TEXT)");
    const row = this.sql.exec("SELECT j FROM state").toArray()[0];
    this.state = row ? JSON.parse(row.j) : { day: 0, used: 0, seconds: [], leases: {} };
  }

  async fetch(request) {
    const { holder, take, spent, tier, limits } = await request.json();
    const { state } = this;
    const now = Date.now();
    const day = Math.floor(now / 86_400_000);
    const second = Math.floor(now / 1000);
    if (state.day !== day) Object.assign(state, { day, used: 0 });
    state.seconds = state.seconds.filter(([at]) => at > second - 61);
    for (const [id, { until }] of Object.entries(state.leases)) if (until <= now) delete state.leases[id];
    if (spent) this.count(second, spent, state.leases[holder]);
    const lent = Object.values(state.leases).reduce((sum, { left }) => sum + left, 0);
    const minute = (limits?.minute ?? 500) - state.seconds.reduce((sum, [, count]) => sum + count, 0) - lent;
    const perDay = limits?.day ?? 1e9;
    const free = Math.min(minute, perDay - state.used - lent);
    const allowed = take <= free;
    if (allowed && take) this.count(second, take);
    const lease = allowed && tier !== "free" ? Math.floor(Math.min(free / 2, 1000)) : 0;
    if (lease) state.leases[holder] = { left: lease, until: now + LEASE_MS };
    if (take || spent || lease) {
      this.sql.exec("INSERT INTO state VALUES (1, ?) ON CONFLICT (k) DO UPDATE SET j = excluded.j", JSON.stringify(state));
    }
    return Response.json({ allowed, lease, quota: { limit: perDay, remaining: Math.max(free - lease, 0), reset: (day + 1) * 86_400 } });
  }

  count(second, calls, lease) {
    const { state } = this;
    state.used += calls;
    if (lease) lease.left = Math.max(lease.left - calls, 0);
    const last = state.seconds.at(-1);
    if (last?.[0] === second) last[1] += calls;
    else state.seconds.push([second, calls]);
  }
}
