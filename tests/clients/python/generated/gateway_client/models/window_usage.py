from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="WindowUsage")


@_attrs_define
class WindowUsage:
    """
    Attributes:
        held (int): Calls lent to the gateway's locations, which give back within seconds what they do not use.
        limit (int | None): null is without limit.
        remaining (int | None):
        resets_at (datetime.datetime):
        used (int): Calls counted.
    """

    held: int
    limit: int | None
    remaining: int | None
    resets_at: datetime.datetime
    used: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        held = self.held

        limit: int | None
        limit = self.limit

        remaining: int | None
        remaining = self.remaining

        resets_at = self.resets_at.isoformat()

        used = self.used

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "held": held,
                "limit": limit,
                "remaining": remaining,
                "resets_at": resets_at,
                "used": used,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        held = d.pop("held")

        def _parse_limit(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        limit = _parse_limit(d.pop("limit"))

        def _parse_remaining(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        remaining = _parse_remaining(d.pop("remaining"))

        resets_at = datetime.datetime.fromisoformat(d.pop("resets_at"))

        used = d.pop("used")

        window_usage = cls(
            held=held,
            limit=limit,
            remaining=remaining,
            resets_at=resets_at,
            used=used,
        )

        window_usage.additional_properties = d
        return window_usage

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
