# The pages. Deliveries are the same below /webhooks/{webhook_id}/deliveries.
next=
while
  page=$(curl -sS "https://server.invalid/pages?limit=10$next" -H "X-API-Key: $KEY")
  printf '%s\n' "$page"
  cursor=$(printf %s "$page" | sed -n 's/.*"next_cursor":"\([^"]*\)".*/\1/p')
  next="&cursor=$cursor"
  [ -n "$cursor" ]
do :; done

# The calls of a key. The operator's list of keys is the same.
next=
while
  page=$(curl -sS "https://server.invalid/v1/usage/calls?limit=10$next" -H "X-API-Key: $KEY")
  printf '%s\n' "$page"
  cursor=$(printf %s "$page" | sed -n 's/.*"cursor":"\([^"]*\)".*/\1/p')
  next="&cursor=$cursor"
  [ -n "$cursor" ]
do :; done

# The log of events. Keep `after`, and go on from there later.
after=0
while
  page=$(curl -sS "https://server.invalid/events?after=$after&limit=10" -H "X-API-Key: $KEY")
  printf '%s\n' "$page"
  after=$(printf %s "$page" | sed -n 's/.*"next_after":\([0-9]*\).*/\1/p')
  printf %s "$page" | grep -q '"has_more":true'
do :; done
