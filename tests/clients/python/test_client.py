"""A client that openapi-python-client makes of the description, calling the gateway (scripts/clients.sh)."""

import os

import pytest
from gateway_client import AuthenticatedClient, Client
from gateway_client.api.default import issue_key, list_keys, read_own_key
from gateway_client.api.qr import qr_get, qr_post
from gateway_client.models import (
    IssuedKey,
    IssueRequest,
    IssueRequestTier,
    KeyPage,
    OwnKey,
    Problem,
    QrGetQuery,
    QrPostBody,
)

URL = os.environ["GATEWAY_URL"]
KEY = os.environ["GATEWAY_KEY"]
ADMIN_SECRET = os.environ["ADMIN_SECRET"]


def with_key(key):
    return AuthenticatedClient(base_url=URL, token=key, prefix="", auth_header_name="X-API-Key")


@pytest.fixture
def administrator():
    return AuthenticatedClient(base_url=URL, token=ADMIN_SECRET)


def issue(administrator, email="ada@example.com", tier=IssueRequestTier.PRO):
    request = IssueRequest(email=email, name="Ada", tier=tier, admin_secret=ADMIN_SECRET)
    return issue_key.sync_detailed(client=administrator, body=request)


def test_python_readme_call_returns_svg():
    body = QrPostBody.from_dict({"url": "https://example.com", "size": 256})
    response = qr_post.sync_detailed("generate", client=with_key(KEY), body=body)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("image/svg+xml")
    assert b"<svg" in response.parsed.payload.read()


def test_python_issued_key_reads_itself(administrator):
    issued = issue(administrator)
    assert issued.status_code == 201 and isinstance(issued.parsed, IssuedKey)
    own = read_own_key.sync(client=with_key(issued.parsed.key))
    assert isinstance(own, OwnKey)
    assert (own.id, own.tier, own.holder.email) == (issued.parsed.id, "pro", "ada@example.com")
    assert own.usage.minute.limit == 100


def test_python_key_list_reaches_page_2(administrator):
    for _ in range(3):
        assert issue(administrator, tier=IssueRequestTier.FREE).status_code == 201
    first = list_keys.sync(client=administrator, limit=2)
    assert isinstance(first, KeyPage) and len(first.keys) == 2
    second = list_keys.sync(client=administrator, limit=2, cursor=first.cursor)
    assert isinstance(second, KeyPage) and second.keys
    assert not {key.id for key in first.keys} & {key.id for key in second.keys}


def test_python_invalid_fields_are_a_typed_problem(administrator):
    refused = issue(administrator, email="not an address")
    assert refused.status_code == 422 and isinstance(refused.parsed, Problem)
    assert refused.parsed.code == "fields-invalid"
    assert refused.parsed.errors[0].pointer == "#/email"


def test_python_missing_key_is_401_key_missing():
    refused = read_own_key.sync_detailed(client=Client(base_url=URL))
    assert refused.status_code == 401 and isinstance(refused.parsed, Problem)
    assert refused.parsed.code == "key-missing"
    assert refused.parsed.request_id == refused.headers["x-request-id"]


def test_python_tool_error_is_told_from_the_gateways():
    query = QrGetQuery.from_dict({"code": "404"})
    response = qr_get.sync_detailed("status", client=with_key(KEY), query=query)
    assert response.status_code == 404
    assert "x-gateway-problem" not in response.headers
    refused = qr_get.sync_detailed("status", client=with_key("no key"), query=query)
    assert refused.headers["x-gateway-problem"] == "key-malformed"
