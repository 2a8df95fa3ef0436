"""Receives webhooks: WEBHOOK_SECRET=whsec_… PORT=8790 python3 receiver.py"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

from standardwebhooks import Webhook, WebhookVerificationError

webhook = Webhook(os.environ["WEBHOOK_SECRET"])
seen = set()  # In production: a unique index in your database.
lock = Lock()


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            # The signature covers the bytes as they came, so nothing parses the body before this.
            message = webhook.verify(body, dict(self.headers))
        except (WebhookVerificationError, ValueError) as error:
            return self.respond(400, f"refused: {error}\n")
        with lock:
            for event in message["data"]["events"] if message["type"] == "batch" else [message]:
                # A single event's id is the `webhook-id`. A retry repeats it.
                if event["id"] not in seen:
                    seen.add(event["id"])
                    print(json.dumps(event), flush=True)  # In production: store it, and work on it later.
        self.respond(204)

    def respond(self, status, text=""):
        self.send_response(status)
        if status != 204:
            self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8790"))), Receiver)
print(f"listening on http://127.0.0.1:{server.server_port}", file=sys.stderr, flush=True)
server.serve_forever()
