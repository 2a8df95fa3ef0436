from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.window_usage import WindowUsage


T = TypeVar("T", bound="OwnKeyUsage")


@_attrs_define
class OwnKeyUsage:
    """
    Attributes:
        day (WindowUsage):
        minute (WindowUsage):
    """

    day: WindowUsage
    minute: WindowUsage
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        day = self.day.to_dict()

        minute = self.minute.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "day": day,
                "minute": minute,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.window_usage import WindowUsage

        d = dict(src_dict)
        day = WindowUsage.from_dict(d.pop("day"))

        minute = WindowUsage.from_dict(d.pop("minute"))

        own_key_usage = cls(
            day=day,
            minute=minute,
        )

        own_key_usage.additional_properties = d
        return own_key_usage

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
