const get = async (path) => {
  const response = await fetch(`https://server.invalid${path}`, { headers: { "X-API-Key": process.env.KEY } });
  const list = await response.json();
  console.log(response.status, list);
  if (!response.ok) throw new Error(list.detail);
  return list;
};

// The pages. Deliveries are the same below /webhooks/{webhook_id}/deliveries.
for (let next = ""; ; ) {
  const { data, has_more, next_cursor } = await get(`/pages?limit=10${next}`);
  for (const page of data) console.log(page.id);
  if (!has_more) break;
  next = `&cursor=${encodeURIComponent(next_cursor)}`;
}

// The calls of a key. The operator's list of keys is the same.
for (let next = ""; ; ) {
  const { calls, cursor } = await get(`/v1/usage/calls?limit=10${next}`);
  for (const call of calls) console.log(call.request_id);
  if (cursor === null) break;
  next = `&cursor=${encodeURIComponent(cursor)}`;
}

// The log of events. Keep `after`, and continue from there later.
for (let after = 0; ; ) {
  const { data, has_more, next_after } = await get(`/events?after=${after}&limit=10`);
  for (const event of data) console.log(event.id);
  after = next_after;
  if (!has_more) break;
}
