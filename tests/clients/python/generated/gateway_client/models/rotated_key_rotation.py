from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="RotatedKeyRotation")


@_attrs_define
class RotatedKeyRotation:
    """
    Attributes:
        former_key_valid_until (datetime.datetime | None):
    """

    former_key_valid_until: datetime.datetime | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        former_key_valid_until: None | str
        if isinstance(self.former_key_valid_until, datetime.datetime):
            former_key_valid_until = self.former_key_valid_until.isoformat()
        else:
            former_key_valid_until = self.former_key_valid_until

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

        def _parse_former_key_valid_until(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                former_key_valid_until_type_0 = datetime.datetime.fromisoformat(data)

                return former_key_valid_until_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        former_key_valid_until = _parse_former_key_valid_until(
            d.pop("former_key_valid_until")
        )

        rotated_key_rotation = cls(
            former_key_valid_until=former_key_valid_until,
        )

        rotated_key_rotation.additional_properties = d
        return rotated_key_rotation

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
