// The entry of the worker, in place of the one that worker-build writes. That one makes an instance of a class, several
// proxies and three promises for each request, and proxies for each message to an object. What it does after a panic is
// still done: the next request or message replaces the wasm instance, and objects are made again.
import Worker, * as built from "./build/built.js";

const { handle } = Worker.prototype;
/** The state that worker-build keeps of the wasm instance. */
const state = globalThis.__worker_init_state;

/** Calls wasm. A panic marks the instance as lost, and what worker-build constructs begins with a new one. */
function call(Built, ctx, env, step) {
  if (state.criticalError) new Built(ctx, env);
  try {
    return step();
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) {
      console.error("Critical", error);
      state.criticalError = true;
    }
    throw error;
  }
}

/** Method, URL and header lines, one a line. */
function headOf(request) {
  let head = `${request.method}\n${request.url}\n`;
  // Half the time of an iterator.
  request.headers.forEach((value, name) => {
    head += `${name}\n${value}\n`;
  });
  return head;
}

export default {
  fetch(request, env, ctx) {
    const response = call(Worker, ctx, env, () => handle(headOf(request), request, env, ctx));
    // A client that hangs up does not strand what its request has begun.
    if (response instanceof Promise) ctx.waitUntil(response);
    return response;
  },
  queue: (batch, env, ctx) => new Worker(ctx, env).queue(batch),
};

/** The class of an object, without worker-build's proxies. */
function object(Built) {
  const { prototype } = Built;
  const Wasm = prototype.constructor;
  class Direct {
    constructor(ctx, env) {
      this.ctx = ctx;
      this.env = env;
      this.call(() => this.make());
    }
    call(step) {
      return call(Built, this.ctx, this.env, step);
    }
    make() {
      this.wasm = new Wasm(this.ctx, this.env);
      this.instanceId = state.instanceId;
    }
    send(name, ...args) {
      return this.call(() => {
        if (this.instanceId !== state.instanceId) this.make();
        return this.wasm[name](...args);
      });
    }
    fetch(request) {
      return this.send("fetch", request);
    }
  }
  // Its messages are handled at once, so that wasm needs no promise for them.
  if (Wasm.prototype.receive) {
    Direct.prototype.fetch = async function fetch(request) {
      const reply = this.send("receive", await request.text());
      if (this.send("needsAlarm")) await this.send("setAlarm");
      return new Response(reply);
    };
  }
  if (prototype.alarm) Direct.prototype.alarm = function alarm() { return this.send("alarm"); };
  return Direct;
}

export const Account = object(built.Account);
export const KeyChanges = object(built.KeyChanges);
export const Meter = object(built.Meter);
export const ProductSource = object(built.ProductSource);
export const Reports = object(built.Reports);
export const Salt = object(built.Salt);
export const Slug = object(built.Slug);
export const Stats = object(built.Stats);
export const Webhooks = object(built.Webhooks);
