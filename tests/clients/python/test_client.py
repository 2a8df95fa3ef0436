"""The clients that generators in Python make of both descriptions, calling the gateway (scripts/clients.sh)."""

import json
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import by_openapi_generator
import by_openapi_python_client
import pytest
from generated_client import Administration, Generated, Pages, Refused

URL = os.environ["GATEWAY_URL"]
KEY = os.environ["GATEWAY_KEY"]
ADMIN_SECRET = os.environ["ADMIN_SECRET"]
MODULES = [by_openapi_python_client, by_openapi_generator]


def generated_by(module: object) -> Generated:
    parts = {name: getattr(module, name.capitalize()) for name in ("client", "administration", "pages")}
    return cast(Generated, SimpleNamespace(**parts))


@pytest.fixture(params=MODULES, ids=lambda module: str(module.__name__).removeprefix("by_"))
def generated(request: pytest.FixtureRequest) -> Generated:
    return generated_by(request.param)


@pytest.fixture
def administrator(generated: Generated) -> Administration:
    return generated.administration(URL, ADMIN_SECRET)


@pytest.fixture
def account(generated: Generated, administrator: Administration) -> Pages:
    return generated.pages(URL, administrator.issue_key("ada@example.com")[1])


def refusal(call: Callable[[], object]) -> tuple[int, str, list[str]]:
    with pytest.raises(Refused) as refused:
        call()
    return refused.value.status, refused.value.code, refused.value.pointers


def test_tool_response_is_bytes(generated: Generated) -> None:
    assert generated.client(URL, KEY).qr_code("https://example.com").startswith(b"\x89PNG")


def test_issued_key_reads_itself(generated: Generated, administrator: Administration) -> None:
    id, key = administrator.issue_key("ada@example.com")
    assert generated.client(URL, key).own_key() == (id, 10)


def test_key_list_reaches_page_2(administrator: Administration) -> None:
    for _ in range(3):
        administrator.issue_key("ada@example.com")
    first = administrator.list_keys(2)
    second = administrator.list_keys(2, first.next)
    assert len(first.ids) == 2 and second.ids
    assert not {*first.ids} & {*second.ids}


def test_invalid_field_is_a_typed_problem(administrator: Administration) -> None:
    assert refusal(lambda: administrator.issue_key("not an address")) == (422, "fields-invalid", ["#/email"])


def test_malformed_key_is_a_typed_problem(generated: Generated) -> None:
    assert refusal(generated.client(URL, "no key").own_key) == (401, "key-malformed", [])


def test_tool_error_is_told_from_the_gateways() -> None:
    def call(key: str) -> tuple[int, str | None]:
        return by_openapi_python_client.Client(URL, key).call_for_status(404)

    assert (call(KEY), call("no key")) == ((404, None), (401, "key-malformed"))


# Bio-link pages are served by the edge alone.
if os.environ["GATEWAY_BOUNDARY"] == "edge":

    def test_page_list_reaches_page_2(account: Pages) -> None:
        created = [account.create_page(title) for title in ("One", "Two", "Three")]
        assert all(qr.endswith("/qr.svg") for _, qr in created)
        first = account.list_pages(2)
        second = account.list_pages(2, first.next)
        assert {*first.ids, *second.ids} == {id for id, _ in created}
        assert (len(first.ids), second.next) == (2, None)

    def test_invalid_page_is_a_typed_problem(account: Pages) -> None:
        assert refusal(lambda: account.create_page("x" * 81)) == (422, "fields-invalid", ["#/title"])

    def test_lists_of_a_query_are_read(account: Pages) -> None:
        pages = [account.create_page(title)[0] for title in ("One", "Two")]
        totals, groups = account.read_analytics(pages, ["views", "clicks"], ["country", "device"])
        assert (totals, groups) == ({"views", "clicks"}, {"country", "device"})

    def test_webhook_has_a_secret_unless_it_is_tried(account: Pages) -> None:
        url = "https://hooks.example.com/"
        assert account.create_webhook(url, True) is None
        assert str(account.create_webhook(url, False)).startswith("whsec_")

    def test_export_is_lines(account: Pages) -> None:
        lines = [json.loads(line) for line in account.export_account().splitlines()]
        assert (lines[0]["object"], lines[-1]["object"]) == ("account", "end")
