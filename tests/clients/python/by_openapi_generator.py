"""openapi-generator (python) makes classes that call with urllib3, and raises what is refused."""

from collections.abc import Iterator
from contextlib import contextmanager

import openapi_generator_biolink as biolink
import openapi_generator_gateway as gateway
from generated_client import Part, Refused


@contextmanager
def problems() -> Iterator[None]:
    try:
        yield
    except (gateway.ApiException, biolink.ApiException) as error:
        problem = error.data
        assert isinstance(problem, gateway.Problem | biolink.Problem), error
        raise Refused(problem.status, problem.code, [fault.pointer for fault in problem.errors or []]) from error


class Client:
    def __init__(self, url: str, key: str) -> None:
        self.http = gateway.ApiClient(gateway.Configuration(host=url, api_key={"ApiKey": key}))

    def qr_code(self, url: str) -> bytes:
        with problems():
            return bytes(gateway.QrApi(self.http).qr_post("generate", request_body={"url": url, "format": "png"}))

    def own_key(self) -> tuple[str, int | None]:
        with problems():
            own = gateway.KeysApi(self.http).read_own_key()
        assert own.usage, "a key's own secret sees it"
        return own.id, own.usage.minute.limit


class Administration:
    def __init__(self, url: str, admin_secret: str) -> None:
        self.admin_secret = admin_secret
        http = gateway.ApiClient(gateway.Configuration(host=url, access_token=admin_secret))
        self.keys = gateway.AdministrationApi(http)

    def issue_key(self, email: str) -> tuple[str, str]:
        request = gateway.IssueRequest(
            email=email, name="Ada", tier="free", biolink_plan="business", admin_secret=self.admin_secret
        )
        with problems():
            issued = self.keys.issue_key(request)
        return issued.id, issued.key

    def list_keys(self, limit: int, cursor: str | None = None) -> Part:
        with problems():
            page = self.keys.list_keys(limit=limit, cursor=cursor)
        return Part([key.id for key in page.keys], page.cursor)


class Pages:
    def __init__(self, url: str, key: str) -> None:
        self.http = biolink.ApiClient(biolink.Configuration(host=url, api_key={"ApiKey": key}))

    def create_page(self, title: str) -> tuple[str, str]:
        with problems():
            # A client of this generator would refuse a title that is too long itself.
            page = biolink.PagesApi(self.http).create_page(biolink.PageInput.model_construct(title=title))
        return page.id, page.urls.qr

    def list_pages(self, limit: int, cursor: str | None = None) -> Part:
        with problems():
            page = biolink.PagesApi(self.http).list_pages(limit=limit, cursor=cursor)
        return Part([page.id for page in page.data], page.next_cursor)

    def read_analytics(self, pages: list[str], metrics: list[str], groups: list[str]) -> tuple[set[str], set[str]]:
        with problems():
            report = biolink.AnalyticsApi(self.http).read_analytics(page_id=pages, metrics=metrics, group_by=groups)
        return set(report.totals.model_dump(exclude_none=True)), set(report.groups.model_dump(exclude_none=True))

    def create_webhook(self, url: str, is_tried: bool) -> str | None:
        body = biolink.WebhookInput(url=url, events=["click"])
        with problems():
            return biolink.WebhooksApi(self.http).create_webhook(body, dry_run=is_tried).secret

    def export_account(self) -> bytes:
        with problems():
            return bytes(biolink.AccountApi(self.http).export_account())
