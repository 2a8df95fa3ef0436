webhook=$(curl -sS https://server.invalid/webhooks -H "X-API-Key: $KEY" \
  -H 'Content-Type: application/json' \
  -d '{"url": "https://hooks.example.com/biolink", "events": ["click", "page_view"]}')
id=$(printf %s "$webhook" | grep -o 'whe_[0-9A-Za-z]*' | head -n 1)
secret=$(printf %s "$webhook" | grep -o 'whsec_[^"]*') # keep it, to verify with

curl -sS "https://server.invalid/webhooks/$id/test" -H "X-API-Key: $KEY" \
  -H 'Content-Type: application/json' -d '{"type": "click"}'
curl -sS "https://server.invalid/webhooks/$id/deliveries" -H "X-API-Key: $KEY"
