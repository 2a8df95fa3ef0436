from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..models.issue_request_biolink_plan import IssueRequestBiolinkPlan
from ..models.issue_request_tier import IssueRequestTier
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.issue_request_limits_type_0 import IssueRequestLimitsType0


T = TypeVar("T", bound="IssueRequest")


@_attrs_define
class IssueRequest:
    """
    Attributes:
        admin_secret (str):
        email (str): Where the holder is reached. ASCII: write an international domain as xn--…
        name (str): What the holder is called.
        tier (IssueRequestTier):
        biolink_plan (IssueRequestBiolinkPlan | Unset): `none`, if left out.
        expires_at (datetime.datetime | None | Unset): When the key ends; never, if null or left out.
        limits (IssueRequestLimitsType0 | None | Unset): Limits of the key's own, in place of its tier's; the tier's, if
            null or left out.
    """

    admin_secret: str
    email: str
    name: str
    tier: IssueRequestTier
    biolink_plan: IssueRequestBiolinkPlan | Unset = UNSET
    expires_at: datetime.datetime | None | Unset = UNSET
    limits: IssueRequestLimitsType0 | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.issue_request_limits_type_0 import IssueRequestLimitsType0

        admin_secret = self.admin_secret

        email = self.email

        name = self.name

        tier = self.tier.value

        biolink_plan: str | Unset = UNSET
        if not isinstance(self.biolink_plan, Unset):
            biolink_plan = self.biolink_plan.value

        expires_at: None | str | Unset
        if isinstance(self.expires_at, Unset):
            expires_at = UNSET
        elif isinstance(self.expires_at, datetime.datetime):
            expires_at = self.expires_at.isoformat()
        else:
            expires_at = self.expires_at

        limits: dict[str, Any] | None | Unset
        if isinstance(self.limits, Unset):
            limits = UNSET
        elif isinstance(self.limits, IssueRequestLimitsType0):
            limits = self.limits.to_dict()
        else:
            limits = self.limits

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "admin_secret": admin_secret,
                "email": email,
                "name": name,
                "tier": tier,
            }
        )
        if biolink_plan is not UNSET:
            field_dict["biolink_plan"] = biolink_plan
        if expires_at is not UNSET:
            field_dict["expires_at"] = expires_at
        if limits is not UNSET:
            field_dict["limits"] = limits

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.issue_request_limits_type_0 import IssueRequestLimitsType0

        d = dict(src_dict)
        admin_secret = d.pop("admin_secret")

        email = d.pop("email")

        name = d.pop("name")

        tier = IssueRequestTier(d.pop("tier"))

        _biolink_plan = d.pop("biolink_plan", UNSET)
        biolink_plan: IssueRequestBiolinkPlan | Unset
        if isinstance(_biolink_plan, Unset):
            biolink_plan = UNSET
        else:
            biolink_plan = IssueRequestBiolinkPlan(_biolink_plan)

        def _parse_expires_at(data: object) -> datetime.datetime | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                expires_at_type_0 = datetime.datetime.fromisoformat(data)

                return expires_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None | Unset, data)

        expires_at = _parse_expires_at(d.pop("expires_at", UNSET))

        def _parse_limits(data: object) -> IssueRequestLimitsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                limits_type_0 = IssueRequestLimitsType0.from_dict(data)

                return limits_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(IssueRequestLimitsType0 | None | Unset, data)

        limits = _parse_limits(d.pop("limits", UNSET))

        issue_request = cls(
            admin_secret=admin_secret,
            email=email,
            name=name,
            tier=tier,
            biolink_plan=biolink_plan,
            expires_at=expires_at,
            limits=limits,
        )

        return issue_request
