"""What each generated client is asked to do. A generator's module does it with what that generator makes of the descriptions."""

from dataclasses import dataclass
from typing import Protocol


@dataclass
class Part:
    """A part of a list, and where the next one begins."""

    ids: list[str]
    next: str | None


@dataclass
class Refused(Exception):
    """A problem, read from the type that the generator has for it."""

    status: int
    code: str
    pointers: list[str]


class Client(Protocol):
    def qr_code(self, url: str) -> bytes: ...

    def own_key(self) -> tuple[str, int | None]:
        """Returns its id and its limit a minute."""


class Administration(Protocol):
    def issue_key(self, email: str) -> tuple[str, str]:
        """Returns id and key."""

    def list_keys(self, limit: int, cursor: str | None = None) -> Part: ...


class Pages(Protocol):
    def create_page(self, title: str) -> tuple[str, str]:
        """Returns its id and the address of its QR code."""

    def list_pages(self, limit: int, cursor: str | None = None) -> Part: ...

    def read_analytics(self, pages: list[str], metrics: list[str], groups: list[str]) -> tuple[set[str], set[str]]:
        """Returns the names of the totals and of the groups."""

    def create_webhook(self, url: str, is_tried: bool) -> str | None:
        """Returns its secret. A creation that is only tried has none."""

    def export_account(self) -> bytes: ...


class Generated(Protocol):
    def client(self, url: str, key: str) -> Client: ...

    def administration(self, url: str, admin_secret: str) -> Administration: ...

    def pages(self, url: str, key: str) -> Pages: ...
