// The entry of a worker that only forwards: what `edge-worker/entry.js` does, without objects and recovery from panics.
import { fetch } from "bindings";

export default { fetch };
