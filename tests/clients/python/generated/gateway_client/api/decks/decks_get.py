from http import HTTPStatus
from io import BytesIO
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.decks_get_query import DecksGetQuery
from ...types import UNSET, File, Response, Unset


def _get_kwargs(
    action: str,
    *,
    query: DecksGetQuery | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    json_query: dict[str, Any] | Unset = UNSET
    if not isinstance(query, Unset):
        json_query = query.to_dict()
    if not isinstance(json_query, Unset):
        params.update(json_query)

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/decks/{action}".format(
            action=quote(str(action), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> File:
    if response.status_code == 200:
        response_200 = File(payload=BytesIO(response.content))

        return response_200

    if response.status_code == 400:
        response_400 = File(payload=BytesIO(response.content))

        return response_400

    if response.status_code == 401:
        response_401 = File(payload=BytesIO(response.content))

        return response_401

    if response.status_code == 403:
        response_403 = File(payload=BytesIO(response.content))

        return response_403

    if response.status_code == 404:
        response_404 = File(payload=BytesIO(response.content))

        return response_404

    if response.status_code == 405:
        response_405 = File(payload=BytesIO(response.content))

        return response_405

    if response.status_code == 408:
        response_408 = File(payload=BytesIO(response.content))

        return response_408

    if response.status_code == 413:
        response_413 = File(payload=BytesIO(response.content))

        return response_413

    if response.status_code == 414:
        response_414 = File(payload=BytesIO(response.content))

        return response_414

    if response.status_code == 417:
        response_417 = File(payload=BytesIO(response.content))

        return response_417

    if response.status_code == 429:
        response_429 = File(payload=BytesIO(response.content))

        return response_429

    if response.status_code == 431:
        response_431 = File(payload=BytesIO(response.content))

        return response_431

    if response.status_code == 500:
        response_500 = File(payload=BytesIO(response.content))

        return response_500

    if response.status_code == 503:
        response_503 = File(payload=BytesIO(response.content))

        return response_503

    response_default = File(payload=BytesIO(response.content))

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[File]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    action: str,
    *,
    client: AuthenticatedClient,
    query: DecksGetQuery | Unset = UNSET,
) -> Response[File]:
    """Call decks without a body: slide deck creation and export

     The action, the query, the body and the headers go to the tool; its response comes back as it is,
    whatever its status and type. An error of the gateway's own has X-Gateway-Problem. A call counts
    against the key's quotas unless the gateway refuses it or the tool is not available.

    Args:
        action (str):
        query (DecksGetQuery | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[File]
    """

    kwargs = _get_kwargs(
        action=action,
        query=query,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    action: str,
    *,
    client: AuthenticatedClient,
    query: DecksGetQuery | Unset = UNSET,
) -> File | None:
    """Call decks without a body: slide deck creation and export

     The action, the query, the body and the headers go to the tool; its response comes back as it is,
    whatever its status and type. An error of the gateway's own has X-Gateway-Problem. A call counts
    against the key's quotas unless the gateway refuses it or the tool is not available.

    Args:
        action (str):
        query (DecksGetQuery | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        File
    """

    return sync_detailed(
        action=action,
        client=client,
        query=query,
    ).parsed


async def asyncio_detailed(
    action: str,
    *,
    client: AuthenticatedClient,
    query: DecksGetQuery | Unset = UNSET,
) -> Response[File]:
    """Call decks without a body: slide deck creation and export

     The action, the query, the body and the headers go to the tool; its response comes back as it is,
    whatever its status and type. An error of the gateway's own has X-Gateway-Problem. A call counts
    against the key's quotas unless the gateway refuses it or the tool is not available.

    Args:
        action (str):
        query (DecksGetQuery | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[File]
    """

    kwargs = _get_kwargs(
        action=action,
        query=query,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    action: str,
    *,
    client: AuthenticatedClient,
    query: DecksGetQuery | Unset = UNSET,
) -> File | None:
    """Call decks without a body: slide deck creation and export

     The action, the query, the body and the headers go to the tool; its response comes back as it is,
    whatever its status and type. An error of the gateway's own has X-Gateway-Problem. A call counts
    against the key's quotas unless the gateway refuses it or the tool is not available.

    Args:
        action (str):
        query (DecksGetQuery | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        File
    """

    return (
        await asyncio_detailed(
            action=action,
            client=client,
            query=query,
        )
    ).parsed
