"""FastMCP's client, which sends what agents in Python send (scripts/clients.sh)."""

import base64
import json
import os
import urllib.request
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import anyio
import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.exceptions import ToolError

ConnectMode = Literal["auto", "legacy"]
GATEWAY = os.environ["GATEWAY_URL"]


def post(path: str, body: dict[str, Any], **headers: str) -> dict[str, Any]:
    headers["content-type"] = "application/json"
    request = urllib.request.Request(f"{GATEWAY}{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        answer: dict[str, Any] = json.load(response)
        return answer


@pytest.fixture(scope="module")
def key() -> str:
    issued = {"email": "fastmcp@example.com", "name": "Agent", "tier": "free", "biolink_plan": "business"}
    return str(post("/v1/keys/issue", issued | {"admin_secret": os.environ["ADMIN_SECRET"]})["key"])


def with_client(key: str, check: Callable[[Client[Any]], Awaitable[None]], mode: ConnectMode = "auto") -> None:
    async def run() -> None:
        transport = StreamableHttpTransport(f"{GATEWAY}/mcp", headers={"x-api-key": key})
        async with Client(transport, mode=mode) as client:
            await check(client)

    anyio.run(run)


def test_mcp_fastmcp_initializes_and_pings(key: str) -> None:
    async def check(client: Client[Any]) -> None:
        assert client.initialize_result is not None
        assert client.initialize_result.server_info.name == "unified-tool-gateway"
        assert await client.ping()

    with_client(key, check, mode="legacy")


def test_mcp_fastmcp_agrees_on_the_newest_revision(key: str) -> None:
    async def check(client: Client[Any]) -> None:
        assert client.protocol_version == "2026-07-28"

    with_client(key, check)


def test_mcp_fastmcp_lists_what_the_scopes_of_a_secret_allow(key: str) -> None:
    secret = post("/v1/keys/me/secrets", {"name": "qr only", "scopes": {"tools": ["qr"]}}, **{"x-api-key": key})["key"]
    listed: dict[str, set[str]] = {}

    def lists(name: str) -> Callable[[Client[Any]], Awaitable[None]]:
        async def check(client: Client[Any]) -> None:
            listed[name] = {tool.name for tool in await client.list_tools()}

        return check

    with_client(key, lists("key"))
    with_client(str(secret), lists("secret"))
    assert {"call_tool", "qr_generate", "create_page"} <= listed["key"]
    assert {"call_tool", "qr_generate"} <= listed["secret"] < listed["key"]
    assert "create_page" not in listed["secret"]


def test_mcp_fastmcp_calls_a_tool(key: str) -> None:
    async def check(client: Client[Any]) -> None:
        body = {"url": "https://example.com"}
        called = await client.call_tool("call_tool", {"tool": "qr", "action": "generate", "body": body})
        image = called.content[0]
        assert (image.type, image.mime_type) == ("image", "image/png")
        assert base64.b64decode(image.data).startswith(b"\x89PNG")
        usage = await client.call_tool("read_usage", {})
        assert usage.structured_content is not None and usage.structured_content["tier"] == "free"

    with_client(key, check)


def test_mcp_fastmcp_raises_the_problem_of_a_refused_call(key: str) -> None:
    async def check(client: Client[Any]) -> None:
        wrong = {"body": {"titel": "x"}}
        with pytest.raises(ToolError, match="fields-invalid"):
            await client.call_tool("create_page", wrong)
        refused = await client.call_tool("create_page", wrong, raise_on_error=False)
        assert refused.is_error
        assert refused.structured_content is not None and refused.structured_content["code"] == "fields-invalid"

    with_client(key, check)
