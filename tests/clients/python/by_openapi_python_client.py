"""openapi-python-client makes functions that call with httpx, and returns what is refused."""

from typing import TypeVar

import openapi_python_client_biolink as biolink
import openapi_python_client_gateway as gateway
from generated_client import Part, Refused
from openapi_python_client_biolink import models as biolink_models
from openapi_python_client_biolink.api.account import export_account
from openapi_python_client_biolink.api.analytics import read_analytics
from openapi_python_client_biolink.api.pages import create_page, list_pages
from openapi_python_client_biolink.api.webhooks import create_webhook
from openapi_python_client_gateway import models
from openapi_python_client_gateway.api.administration import issue_key, list_keys
from openapi_python_client_gateway.api.keys import read_own_key
from openapi_python_client_gateway.api.qr import qr_get, qr_post

T = TypeVar("T")


def value(parsed: object, expected: type[T]) -> T:
    """Returns a parsed body of the expected type, and raises a problem."""
    if isinstance(parsed, models.Problem | biolink_models.Problem):
        errors = parsed.errors or []
        raise Refused(parsed.status, str(parsed.code), [fault.pointer for fault in errors])
    assert isinstance(parsed, expected), parsed
    return parsed


class Client:
    def __init__(self, url: str, key: str) -> None:
        self.http = gateway.AuthenticatedClient(base_url=url, token=key, prefix="", auth_header_name="X-API-Key")

    def qr_code(self, url: str) -> bytes:
        body = models.QrPostBody.from_dict({"url": url, "format": "png"})
        response = qr_post.sync_detailed("generate", client=self.http, body=body)
        assert response.status_code == 200 and response.parsed is not None, response
        return response.parsed.payload.read()

    def call_for_status(self, code: int) -> tuple[int, str | None]:
        """Returns the status that the demo tool was asked for, and the code if the problem is the gateway's."""
        query = models.QrGetQuery.from_dict({"code": str(code)})
        response = qr_get.sync_detailed("status", client=self.http, query=query)
        return response.status_code, response.headers.get("x-gateway-problem")

    def own_key(self) -> tuple[str, int | None]:
        own = value(read_own_key.sync(client=self.http), models.OwnKey)
        assert own.usage, "a key's own secret sees it"
        return own.id, own.usage.minute.limit


class Administration:
    def __init__(self, url: str, admin_secret: str) -> None:
        self.admin_secret = admin_secret
        self.http = gateway.AuthenticatedClient(base_url=url, token=admin_secret)

    def issue_key(self, email: str) -> tuple[str, str]:
        request = models.IssueRequest(
            email=email,
            name="Ada",
            tier=models.IssueRequestTier.FREE,
            biolink_plan=models.IssueRequestBiolinkPlan.BUSINESS,
            admin_secret=self.admin_secret,
        )
        issued = value(issue_key.sync(client=self.http, body=request), models.IssuedKey)
        return issued.id, issued.key

    def list_keys(self, limit: int, cursor: str | None = None) -> Part:
        parsed = list_keys.sync(client=self.http, limit=limit, cursor=cursor or gateway.types.UNSET)
        page = value(parsed, models.KeyPage)
        return Part([key.id for key in page.keys], page.cursor)


class Pages:
    def __init__(self, url: str, key: str) -> None:
        self.http = biolink.AuthenticatedClient(base_url=url, token=key, prefix="", auth_header_name="X-API-Key")

    def create_page(self, title: str) -> tuple[str, str]:
        body = biolink_models.PageInput(title=title)
        page = value(create_page.sync(client=self.http, body=body), biolink_models.Page)
        return page.id, page.urls.qr

    def list_pages(self, limit: int, cursor: str | None = None) -> Part:
        parsed = list_pages.sync(client=self.http, limit=limit, cursor=cursor or biolink.types.UNSET)
        page = value(parsed, biolink_models.PageList)
        return Part([page.id for page in page.data], page.next_cursor)

    def read_analytics(self, pages: list[str], metrics: list[str], groups: list[str]) -> tuple[set[str], set[str]]:
        parsed = read_analytics.sync(
            client=self.http,
            page_id=pages,
            metrics=[biolink_models.ReadAnalyticsMetricsItem(name) for name in metrics],
            group_by=[biolink_models.ReadAnalyticsGroupByItem(name) for name in groups],
        )
        report = value(parsed, biolink_models.Analytics)
        return set(report.totals.to_dict()), set(report.groups.to_dict())

    def create_webhook(self, url: str, is_tried: bool) -> str | None:
        body = biolink_models.WebhookInput(url=url, events=[biolink_models.WebhookInputEventsItem.CLICK])
        parsed = create_webhook.sync(client=self.http, body=body, dry_run=is_tried)
        return value(parsed, biolink_models.CreatedWebhook).secret

    def export_account(self) -> bytes:
        return value(export_account.sync(client=self.http), biolink.types.File).payload.read()
