import json, os
import urllib.request


def call(method, path, body=None):
    headers = {"X-API-Key": os.environ["KEY"], "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request("https://server.invalid" + path, data, headers, method=method)
    with urllib.request.urlopen(request) as response:
        answer = json.load(response)
    print(response.status, answer)
    return answer


webhook = call("POST", "/webhooks", {
    "url": "https://hooks.example.com/biolink",
    "events": ["click", "page_view"],
})
secret = webhook["secret"]  # keep it, to verify with
call("POST", f"/webhooks/{webhook['id']}/test", {"type": "click"})
call("GET", f"/webhooks/{webhook['id']}/deliveries")
