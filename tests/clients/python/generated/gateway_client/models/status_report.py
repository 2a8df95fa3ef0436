from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.status_report_status import StatusReportStatus

if TYPE_CHECKING:
    from ..models.status_report_tools_item import StatusReportToolsItem


T = TypeVar("T", bound="StatusReport")


@_attrs_define
class StatusReport:
    """
    Attributes:
        status (StatusReportStatus):
        tools (list[StatusReportToolsItem]):
    """

    status: StatusReportStatus
    tools: list[StatusReportToolsItem]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        status = self.status.value

        tools = []
        for tools_item_data in self.tools:
            tools_item = tools_item_data.to_dict()
            tools.append(tools_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "status": status,
                "tools": tools,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.status_report_tools_item import StatusReportToolsItem

        d = dict(src_dict)
        status = StatusReportStatus(d.pop("status"))

        tools = []
        _tools = d.pop("tools")
        for tools_item_data in _tools:
            tools_item = StatusReportToolsItem.from_dict(tools_item_data)

            tools.append(tools_item)

        status_report = cls(
            status=status,
            tools=tools,
        )

        status_report.additional_properties = d
        return status_report

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
