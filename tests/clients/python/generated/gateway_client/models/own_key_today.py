from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.own_key_today_by_status import OwnKeyTodayByStatus
    from ..models.own_key_today_by_tool import OwnKeyTodayByTool


T = TypeVar("T", bound="OwnKeyToday")


@_attrs_define
class OwnKeyToday:
    """
    Attributes:
        by_status (OwnKeyTodayByStatus):
        by_tool (OwnKeyTodayByTool):
    """

    by_status: OwnKeyTodayByStatus
    by_tool: OwnKeyTodayByTool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        by_status = self.by_status.to_dict()

        by_tool = self.by_tool.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "by_status": by_status,
                "by_tool": by_tool,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.own_key_today_by_status import OwnKeyTodayByStatus
        from ..models.own_key_today_by_tool import OwnKeyTodayByTool

        d = dict(src_dict)
        by_status = OwnKeyTodayByStatus.from_dict(d.pop("by_status"))

        by_tool = OwnKeyTodayByTool.from_dict(d.pop("by_tool"))

        own_key_today = cls(
            by_status=by_status,
            by_tool=by_tool,
        )

        own_key_today.additional_properties = d
        return own_key_today

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
