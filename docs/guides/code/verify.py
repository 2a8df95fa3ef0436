import base64, hashlib, hmac, time

def is_signed(secret, headers, body):
    """`headers` is a mapping with names in lower case, `body` the bytes as they came."""
    timestamp = headers["webhook-timestamp"]
    if abs(time.time() - float(timestamp)) > 300:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    message = f"{headers['webhook-id']}.{timestamp}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.digest(key, message, hashlib.sha256)).decode()
    return any(hmac.compare_digest(expected, one) for one in headers["webhook-signature"].split(" "))
