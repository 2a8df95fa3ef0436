import base64, hashlib, hmac, json, os, time, uuid
import urllib.request

body = json.dumps({"upsert": [], "delete": ["sku-3"]})
message_id, timestamp = f"msg_{uuid.uuid4()}", str(int(time.time()))
key = base64.b64decode(os.environ["PUSH_SECRET"].removeprefix("whsec_"))
mac = base64.b64encode(hmac.digest(key, f"{message_id}.{timestamp}.{body}".encode(), hashlib.sha256)).decode()
request = urllib.request.Request(
    "https://server.invalid/hooks/products/" + os.environ["SOURCE"],
    headers={
        "Content-Type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1,{mac}",
    },
    data=body.encode(),
)
with urllib.request.urlopen(request) as response:
    print(response.status, response.read())
