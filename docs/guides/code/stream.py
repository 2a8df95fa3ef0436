import os, shutil
import urllib.request

request = urllib.request.Request(
    "https://server.invalid/v1/qr/generate",
    headers={"X-API-Key": os.environ["KEY"], "Content-Type": "application/json"},
    data=b'{"url":"https://example.com","size":256}',
)
with urllib.request.urlopen(request) as response, open("qr.out", "wb") as file:
    print(response.status)
    shutil.copyfileobj(response, file)
