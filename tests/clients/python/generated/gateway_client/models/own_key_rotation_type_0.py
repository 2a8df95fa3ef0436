from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="OwnKeyRotationType0")


@_attrs_define
class OwnKeyRotationType0:
    """While a replaced key is still good.

    Attributes:
        former_key_valid_until (datetime.datetime):
    """

    former_key_valid_until: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        former_key_valid_until = self.former_key_valid_until.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "former_key_valid_until": former_key_valid_until,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        former_key_valid_until = datetime.datetime.fromisoformat(
            d.pop("former_key_valid_until")
        )

        own_key_rotation_type_0 = cls(
            former_key_valid_until=former_key_valid_until,
        )

        own_key_rotation_type_0.additional_properties = d
        return own_key_rotation_type_0

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
