import os, random, time
import urllib.error, urllib.request

def call(path, attempts=5):
    request = urllib.request.Request("https://server.invalid" + path, headers={"X-API-Key": os.environ["KEY"]})
    for attempt in range(1, attempts + 1):
        try:
            return urllib.request.urlopen(request)
        except urllib.error.HTTPError as error:
            # Without X-Gateway-Problem, the tool responded.
            is_temporary = "X-Gateway-Problem" in error.headers and error.code in (429, 503)
            seconds = float(error.headers.get("Retry-After", 2**attempt))
            # A used-up day ends in hours: the caller is told now.
            if not is_temporary or attempt == attempts or seconds > 61:
                raise
            time.sleep(seconds + random.random())

try:
    with call("/v1/keys/me") as response:
        print(response.status, response.read())
except urllib.error.HTTPError as error:
    print(error.code, error.headers.get("X-Gateway-Problem"), error.read())
