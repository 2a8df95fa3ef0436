import { createHmac } from "node:crypto";

const body = JSON.stringify({ upsert: [], delete: ["sku-3"] });
const id = `msg_${crypto.randomUUID()}`;
const timestamp = String(Math.floor(Date.now() / 1000));
const key = Buffer.from(process.env.PUSH_SECRET.replace("whsec_", ""), "base64");
const mac = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
const response = await fetch(`https://server.invalid/hooks/products/${process.env.SOURCE}`, {
  method: "POST",
  headers: {
    "Content-Type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${mac}`,
  },
  body,
});
console.log(response.status, await response.text());
