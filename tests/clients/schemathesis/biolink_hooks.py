"""What schemathesis must know about bio-link pages and cannot read in their description.

- An account may make 1,000 calls an hour and have 25 pages, so each call has one that is not used up.
- Most calls for a page name a page of that account, with a link and two revisions; the others one that was drawn.
- A call for a page, a webhook or a domain that an earlier call created is made by the account that has it.
- A call for a domain that was only tried out (`dry_run`) names one that exists.
- Most calls have no `If-Match`: a drawn one is the ETag of no page.
- Most calls for a webhook name one of that account, with a delivery.
- Most calls for a domain name one of that account, whose record is set. A domain is for its page.
- No call waits for events: there are none.
- Every second erasure is confirmed.
- Each call with a valid `Idempotency-Key` has one of its own: with another body under the same one it is 422.
- No undeclared header has an underscore in its name: the gateway refuses those as ambiguous.
"""

import itertools
import os
import re

import requests
import schemathesis
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

URL = os.environ["GATEWAY_URL"]
ADMIN_SECRET = os.environ["ADMIN_SECRET"]
KEY = os.environ["GATEWAY_KEY"]
RESOLVER = os.environ["RESOLVER_URL"]
IDEMPOTENCY_KEY = r"[!-+\x2D-~]{1,255}"
PAGE = re.compile(r"pg_[0-9A-Za-z]{17}")
# Calls of one account: each may create a page.
CALLS = 20

numbers = itertools.count()
domains = itertools.count()
session = requests.Session()
# The worker closes idle connections, perhaps in the moment in which a call is sent. What may be repeated is sent again.
session.headers["Connection"] = "close"
session.mount("http://", HTTPAdapter(max_retries=Retry(total=3, backoff_factor=0.1)))


class Account:
    """A fresh account with one page, which has a link and two revisions."""

    def __init__(self):
        body = {"email": "ada@example.com", "name": "Ada", "tier": "free", "admin_secret": ADMIN_SECRET}
        issued = session.post(f"{URL}/v1/keys/issue", json=body | {"biolink_plan": "business"})
        issued.raise_for_status()
        self.key = issued.json()["key"]
        self.id = issued.json()["account"]
        self.calls = 0
        # Whether a call since the last look may have removed what it has.
        self.is_touched = False
        headers = {"X-API-Key": self.key}
        link = {"title": "One", "url": "https://example.com/1"}
        created = session.post(f"{URL}/pages", json={"title": "Ada", "links": [link]}, headers=headers)
        created.raise_for_status()
        self.page = created.json()["id"]
        added = session.post(f"{URL}/pages/{self.page}/links", json=link, headers=headers)
        added.raise_for_status()
        self.link = added.json()["links"][0]["id"]
        hook = {"url": "https://hooks.example.com/", "events": ["page_published"]}
        created = session.post(f"{URL}/webhooks", json=hook, headers=headers)
        created.raise_for_status()
        self.webhook = created.json()["id"]
        tested = session.post(f"{URL}/webhooks/{self.webhook}/test", json={"type": "click"}, headers=headers)
        tested.raise_for_status()
        self.delivery = tested.json()["id"]
        domain = {"host": f"links-{next(domains)}.ada.example", "page_id": self.page}
        added = session.post(f"{URL}/domains", json=domain, headers=headers)
        added.raise_for_status()
        self.domain = added.json()["id"]
        record = added.json()["dns"][0]
        session.post(f"{RESOLVER}/?name={record['name']}&text={record['value']}").raise_for_status()

    def is_whole(self):
        """Whether its page, its webhook and its domain are still there."""
        paths = (f"pages/{self.page}", f"webhooks/{self.webhook}", f"domains/{self.domain}")
        self.is_touched = not all(self.has(path) for path in paths)
        return not self.is_touched

    def has(self, path):
        return session.get(f"{URL}/{path}", headers={"X-API-Key": self.key}).status_code == 200


account = Account()
# The accounts of pages, webhooks and domains that calls created, by id.
owners = {}
# The ids of domains that were never added.
tried = set()


@schemathesis.hook
def before_call(context, case, kwargs):
    global account
    for name in [name for name in case.headers if "_" in name]:
        del case.headers[name]
    number = next(numbers)
    # Wrong admin secrets block an address.
    case.headers["CF-Connecting-IP"] = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    operation = case.operation.definition.raw["operationId"]
    names_page = number % 4 and drawn(case, "page_id").startswith("pg_")
    names_webhook = number % 4 and drawn(case, "webhook_id").startswith("whe_")
    names_domain = drawn(case, "domain_id") in tried or (number % 4 and drawn(case, "domain_id").startswith("dom_"))
    account.calls += 1
    if account.calls > CALLS or (account.is_touched and not account.is_whole()):
        account = Account()
    if case.headers.get("X-API-Key") == KEY:
        case.headers["X-API-Key"] = account.key
    if operation == "erase_account" and number % 2:
        case.query["confirm"] = account.id
    if number % 4 and drawn(case, "id").startswith("key_"):
        case.path_parameters["id"] = account.id
    if names_page:
        case.path_parameters["page_id"] = account.page
        if drawn(case, "link_id").startswith("lnk_"):
            case.path_parameters["link_id"] = account.link
        if drawn(case, "revision").isdigit():
            case.path_parameters["revision"] = 1
    if names_webhook:
        case.path_parameters["webhook_id"] = account.webhook
        if drawn(case, "delivery_id").startswith("dlv_"):
            case.path_parameters["delivery_id"] = account.delivery
    if names_domain:
        case.path_parameters["domain_id"] = account.domain
    if isinstance(case.body, dict) and "domain" in operation and PAGE.fullmatch(str(case.body.get("page_id"))):
        case.body["page_id"] = account.page
    if operation == "list_events" and str(case.query.get("wait", "")).isdigit() and int(case.query["wait"]) <= 25:
        case.query["wait"] = 0
    if number % 4:
        case.headers.pop("If-Match", None)
    if re.fullmatch(IDEMPOTENCY_KEY, str(case.headers.get("Idempotency-Key", ""))):
        case.headers["Idempotency-Key"] = f"schemathesis-{number}"
    named = (drawn(case, name) for name in ("page_id", "webhook_id", "domain_id"))
    owner = next((owners[name] for name in named if name in owners), None)
    if owner and case.headers.get("X-API-Key") == account.key:
        case.headers["X-API-Key"] = owner.key


@schemathesis.hook
def after_call(context, case, response):
    operation = case.operation.definition.raw["operationId"]
    if response.status_code < 400 and (case.method == "DELETE" or operation.startswith("suspend_")):
        account.is_touched = True
    if response.status_code == 201 and case.path in ("/pages", "/webhooks", "/domains"):
        owners[response.json()["id"]] = account
    if response.status_code == 200 and case.path == "/domains" and case.method == "POST":
        tried.add(response.json()["id"])


def drawn(case, name):
    return str(case.path_parameters.get(name, ""))
