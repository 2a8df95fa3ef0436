import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

const response = await fetch("https://server.invalid/v1/qr/generate", {
  method: "POST",
  headers: { "X-API-Key": process.env.KEY, "Content-Type": "application/json" },
  body: JSON.stringify({ url: "https://example.com", size: 256 }),
});
console.log(response.status);
await pipeline(Readable.fromWeb(response.body), createWriteStream("qr.out"));
