body='{"upsert":[],"delete":["sku-3"]}'
id=msg_$(date +%s) timestamp=$(date +%s)
key=$(printf %s "${PUSH_SECRET#whsec_}" | base64 -d | od -An -v -tx1 | tr -d ' \n')
mac=$(printf '%s.%s.%s' "$id" "$timestamp" "$body" |
  openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64)
curl -sS "https://server.invalid/hooks/products/$SOURCE" -d "$body" \
  -H 'Content-Type: application/json' \
  -H "webhook-id: $id" -H "webhook-timestamp: $timestamp" -H "webhook-signature: v1,$mac"
