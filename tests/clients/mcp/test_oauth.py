"""The official Python client signs in with OAuth (scripts/clients.sh)."""

import json
import os
import urllib.request
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

GATEWAY = os.environ["GATEWAY_URL"]
REDIRECT = "http://localhost:3030/callback"


class Storage:
    """Keeps what a client would keep."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def send(path: str, body: dict, headers: dict) -> dict:
    headers = {"content-type": "application/json", **headers}
    with urllib.request.urlopen(urllib.request.Request(GATEWAY + path, json.dumps(body).encode(), headers)) as response:
        return json.load(response)


def test_mcp_python_client_signs_in() -> None:
    issued = {
        "email": "oauth-python@example.com",
        "name": "Agent",
        "tier": "free",
        "biolink_plan": "business",
        "admin_secret": os.environ["ADMIN_SECRET"],
    }
    key = send("/v1/keys/issue", issued, {})["key"]
    back = {}

    async def agree(url: str) -> None:
        async with httpx2.AsyncClient() as browser:
            asked = await browser.get(url, follow_redirects=False)
        assert asked.status_code == 303, asked.text
        request = parse_qs(urlsplit(asked.headers["location"]).query)["request"][0]
        choice = {"request": request, "name": "Python", "scopes": {"tools": ["qr"]}}
        to = send("/oauth/consent", choice, {"x-api-key": key})["redirect_to"]
        back.update({name: values[0] for name, values in parse_qs(urlsplit(to).query).items()})

    async def returned() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code=back["code"], state=back["state"], iss=back["iss"])

    async def run() -> None:
        storage = Storage()
        metadata = OAuthClientMetadata(client_name="Python", redirect_uris=[REDIRECT])
        provider = OAuthClientProvider(f"{GATEWAY}/mcp", metadata, storage, agree, returned)
        async with httpx2.AsyncClient(auth=provider) as http:
            async with Client(streamable_http_client(f"{GATEWAY}/mcp", http_client=http)) as client:
                listed = {tool.name for tool in (await client.list_tools()).tools}
                assert "call_tool" in listed and "list_pages" not in listed
                usage = await client.call_tool("read_usage", {})
                assert usage.structured_content["tier"] == "free"
        assert storage.tokens is not None and storage.tokens.scope == "tools:qr"

    anyio.run(run)
