async function call(path, options = {}) {
  const headers = { "X-API-Key": process.env.KEY, ...options.headers };
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(`https://server.invalid${path}`, { ...options, headers });
    const problem = response.headers.get("X-Gateway-Problem"); // Without it, the tool responded.
    const isTemporary = problem && [429, 503].includes(response.status);
    const seconds = Number(response.headers.get("Retry-After") ?? 2 ** attempt);
    // A used-up day ends in hours: the caller is told now.
    if (!isTemporary || attempt === 5 || seconds > 61) return response;
    await new Promise((resolve) => setTimeout(resolve, (seconds + Math.random()) * 1000));
  }
}

const response = await call("/v1/keys/me");
console.log(response.status, response.headers.get("X-Gateway-Problem") ?? "", await response.text());
