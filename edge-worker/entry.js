// The entry of the worker: gives requests, batches of the queue and messages of objects to wasm, and replaces the wasm
// instance after a panic. scripts/build-edge.sh puts the bindings that wasm-bindgen writes in place of the import.
import * as wasm from "bindings";

// Those of panics are deep.
Error.stackTraceLimit = 100;

/** What is known of the wasm instance: whether it is lost, and how many there were before. */
const state = wasm.__worker_init_state();

/** Marks the instance as lost if the error is a panic. */
function note(error) {
  if (!(error instanceof WebAssembly.RuntimeError)) return;
  console.error("Critical", error);
  state.criticalError = true;
}

function replaceLostInstance() {
  if (!state.criticalError) return;
  console.log("Reinitializing Wasm application");
  wasm.__wbg_reset_state();
  state.criticalError = false;
  state.instanceId++;
}

/** Calls wasm. The call after a panic begins with a new instance. */
function call(step) {
  replaceLostInstance();
  try {
    return step();
  } catch (error) {
    note(error);
    throw error;
  }
}

addEventListener("error", ({ error }) => note(error));

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
    const response = call(() => wasm.handle(headOf(request), request, env, ctx));
    // A client that hangs up does not strand what its request has begun.
    if (response instanceof Promise) ctx.waitUntil(response);
    return response;
  },
  queue: (batch, env, ctx) => call(() => wasm.queue(batch, env, ctx)),
};

/** The class of an object. After a panic, each object is made again in the new instance. */
function object(Wasm) {
  class Direct {
    constructor(ctx, env) {
      this.ctx = ctx;
      this.env = env;
      call(() => this.make());
    }
    make() {
      this.wasm = new Wasm(this.ctx, this.env);
      this.instanceId = state.instanceId;
    }
    send(name, ...args) {
      return call(() => {
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
  if (Wasm.prototype.alarm) Direct.prototype.alarm = function alarm() { return this.send("alarm"); };
  return Direct;
}

export const Account = object(wasm.Account);
export const KeyChanges = object(wasm.KeyChanges);
export const Meter = object(wasm.Meter);
export const ProductSource = object(wasm.ProductSource);
export const Reports = object(wasm.Reports);
export const Salt = object(wasm.Salt);
export const Slug = object(wasm.Slug);
export const Stats = object(wasm.Stats);
export const StatusHistory = object(wasm.StatusHistory);
export const Webhooks = object(wasm.Webhooks);
