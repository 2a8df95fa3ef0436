from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.problem_code import ProblemCode
from ..models.problem_nearest_item import ProblemNearestItem
from ..models.problem_violated_policies_item import ProblemViolatedPoliciesItem
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.fault import Fault


T = TypeVar("T", bound="Problem")


@_attrs_define
class Problem:
    """RFC 9457 problem details. Switch on `code`; the text may change.

    Attributes:
        code (ProblemCode):
        detail (str): What happened this time, and what to do.
        request_id (str):
        status (int): The HTTP status.
        title (str):
        type_ (str): A page that explains the problem.
        errors (list[Fault] | Unset): 422: every fault at once.
        nearest (list[ProblemNearestItem] | Unset): 404: tools with a similar name.
        violated_policies (list[ProblemViolatedPoliciesItem] | Unset): 429: the quota that is used up.
    """

    code: ProblemCode
    detail: str
    request_id: str
    status: int
    title: str
    type_: str
    errors: list[Fault] | Unset = UNSET
    nearest: list[ProblemNearestItem] | Unset = UNSET
    violated_policies: list[ProblemViolatedPoliciesItem] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        code = self.code.value

        detail = self.detail

        request_id = self.request_id

        status = self.status

        title = self.title

        type_ = self.type_

        errors: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.errors, Unset):
            errors = []
            for errors_item_data in self.errors:
                errors_item = errors_item_data.to_dict()
                errors.append(errors_item)

        nearest: list[str] | Unset = UNSET
        if not isinstance(self.nearest, Unset):
            nearest = []
            for nearest_item_data in self.nearest:
                nearest_item = nearest_item_data.value
                nearest.append(nearest_item)

        violated_policies: list[str] | Unset = UNSET
        if not isinstance(self.violated_policies, Unset):
            violated_policies = []
            for violated_policies_item_data in self.violated_policies:
                violated_policies_item = violated_policies_item_data.value
                violated_policies.append(violated_policies_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "code": code,
                "detail": detail,
                "request_id": request_id,
                "status": status,
                "title": title,
                "type": type_,
            }
        )
        if errors is not UNSET:
            field_dict["errors"] = errors
        if nearest is not UNSET:
            field_dict["nearest"] = nearest
        if violated_policies is not UNSET:
            field_dict["violated-policies"] = violated_policies

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.fault import Fault

        d = dict(src_dict)
        code = ProblemCode(d.pop("code"))

        detail = d.pop("detail")

        request_id = d.pop("request_id")

        status = d.pop("status")

        title = d.pop("title")

        type_ = d.pop("type")

        _errors = d.pop("errors", UNSET)
        errors: list[Fault] | Unset = UNSET
        if _errors is not UNSET:
            errors = []
            for errors_item_data in _errors:
                errors_item = Fault.from_dict(errors_item_data)

                errors.append(errors_item)

        _nearest = d.pop("nearest", UNSET)
        nearest: list[ProblemNearestItem] | Unset = UNSET
        if _nearest is not UNSET:
            nearest = []
            for nearest_item_data in _nearest:
                nearest_item = ProblemNearestItem(nearest_item_data)

                nearest.append(nearest_item)

        _violated_policies = d.pop("violated-policies", UNSET)
        violated_policies: list[ProblemViolatedPoliciesItem] | Unset = UNSET
        if _violated_policies is not UNSET:
            violated_policies = []
            for violated_policies_item_data in _violated_policies:
                violated_policies_item = ProblemViolatedPoliciesItem(
                    violated_policies_item_data
                )

                violated_policies.append(violated_policies_item)

        problem = cls(
            code=code,
            detail=detail,
            request_id=request_id,
            status=status,
            title=title,
            type_=type_,
            errors=errors,
            nearest=nearest,
            violated_policies=violated_policies,
        )

        problem.additional_properties = d
        return problem

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
