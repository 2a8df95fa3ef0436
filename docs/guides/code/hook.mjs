const call = async (method, path, body) => {
  const headers = { "X-API-Key": process.env.KEY, "Content-Type": "application/json" };
  const response = await fetch(`https://server.invalid${path}`, { method, headers, body: JSON.stringify(body) });
  const answer = await response.json();
  console.log(response.status, answer);
  if (!response.ok) throw new Error(answer.detail);
  return answer;
};

const { id, secret } = await call("POST", "/webhooks", {
  url: "https://hooks.example.com/biolink",
  events: ["click", "page_view"],
}); // keep the secret, to verify with
await call("POST", `/webhooks/${id}/test`, { type: "click" });
await call("GET", `/webhooks/${id}/deliveries`);
