import json, os
import urllib.parse, urllib.request


def get(path, **query):
    url = f"https://server.invalid{path}?{urllib.parse.urlencode(query)}"
    request = urllib.request.Request(url, headers={"X-API-Key": os.environ["KEY"]})
    with urllib.request.urlopen(request) as response:
        found = json.load(response)
    print(response.status, found)
    return found


# The pages. Deliveries are the same below /webhooks/{webhook_id}/deliveries.
pages = get("/pages", limit=10)
while True:
    for page in pages["data"]:
        print(page["id"])
    if not pages["has_more"]:
        break
    pages = get("/pages", limit=10, cursor=pages["next_cursor"])

# The calls of a key. The operator's list of keys is the same.
calls = get("/v1/usage/calls", limit=10)
while True:
    for call in calls["calls"]:
        print(call["request_id"])
    if calls["cursor"] is None:
        break
    calls = get("/v1/usage/calls", limit=10, cursor=calls["cursor"])

# The log of events. Keep `after`, and continue from there later.
after, has_more = 0, True
while has_more:
    events = get("/events", after=after, limit=10)
    for event in events["data"]:
        print(event["id"])
    after, has_more = events["next_after"], events["has_more"]
