"""The official Python client, pinned to the revisions of the Model Context Protocol (scripts/clients.sh)."""

import json
import os
import urllib.request

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

GATEWAY = os.environ["GATEWAY_URL"]
MODERN, LEGACY = "2026-07-28", "2025-11-25"


@pytest.fixture(scope="module")
def key() -> str:
    issued = {
        "email": "python@example.com",
        "name": "Agent",
        "tier": "free",
        "biolink_plan": "business",
        "admin_secret": os.environ["ADMIN_SECRET"],
    }
    request = urllib.request.Request(
        f"{GATEWAY}/v1/keys/issue", json.dumps(issued).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)["key"]


@pytest.mark.parametrize(("mode", "revision"), [(MODERN, MODERN), ("auto", MODERN), ("legacy", LEGACY)])
def test_mcp_python_client_lists_and_calls_tools(key: str, mode: str, revision: str) -> None:
    async def run() -> None:
        async with httpx2.AsyncClient(headers={"authorization": f"Bearer {key}"}) as http:
            transport = streamable_http_client(f"{GATEWAY}/mcp", http_client=http)
            async with Client(transport, mode=mode) as client:
                assert client.protocol_version == revision
                listed = await client.list_tools()
                assert "call_tool" in {tool.name for tool in listed.tools}
                usage = await client.call_tool("read_usage", {})
                assert usage.structured_content["tier"] == "free"
                code = {"tool": "qr", "action": "generate", "body": {"url": "https://example.com"}}
                image = (await client.call_tool("call_tool", code)).content[0]
                assert (image.type, image.mime_type) == ("image", "image/png")
                refused = await client.call_tool("create_page", {"body": {"titel": "x"}})
                assert refused.is_error and refused.structured_content["code"] == "fields-invalid"

    anyio.run(run)
