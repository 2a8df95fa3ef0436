# -N writes what has arrived at once.
curl -sSN https://server.invalid/v1/qr/generate \
  -H "X-API-Key: $KEY" \
  -H 'Content-Type: application/json' \
  -d '{"url":"https://example.com","size":256}' \
  -o qr.out
