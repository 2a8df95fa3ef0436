from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="IssueRequestLimitsType0")


@_attrs_define
class IssueRequestLimitsType0:
    """Limits of the key's own, in place of its tier's; the tier's, if null or left out.

    Attributes:
        day (int | Unset):
        minute (int | Unset):
    """

    day: int | Unset = UNSET
    minute: int | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        day = self.day

        minute = self.minute

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if day is not UNSET:
            field_dict["day"] = day
        if minute is not UNSET:
            field_dict["minute"] = minute

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        day = d.pop("day", UNSET)

        minute = d.pop("minute", UNSET)

        issue_request_limits_type_0 = cls(
            day=day,
            minute=minute,
        )

        return issue_request_limits_type_0
