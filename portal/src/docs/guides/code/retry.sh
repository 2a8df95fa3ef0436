# curl retries 429 and 503, and waits as long as Retry-After says, unless that is beyond the two minutes.
curl -sS --retry 5 --retry-max-time 120 https://server.invalid/v1/keys/me \
  -H "X-API-Key: $KEY"
