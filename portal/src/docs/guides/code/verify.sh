# id, timestamp and signature are the headers webhook-id, webhook-timestamp and webhook-signature.
key=$(printf %s "${WEBHOOK_SECRET#whsec_}" | base64 -d | od -An -v -tx1 | tr -d ' \n')
mac=$({ printf '%s.%s.' "$id" "$timestamp"; cat body.json; } |
  openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64)
case " $signature " in *" v1,$mac "*) echo verified ;; *) echo refused ;; esac
