from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..models.key_change_biolink_plan import KeyChangeBiolinkPlan
from ..models.key_change_tier import KeyChangeTier
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.key_change_limits_type_0 import KeyChangeLimitsType0


T = TypeVar("T", bound="KeyChange")


@_attrs_define
class KeyChange:
    """
    Attributes:
        biolink_plan (KeyChangeBiolinkPlan | Unset):
        disabled (bool | Unset):
        expires_at (datetime.datetime | None | Unset): When the key ends; null is never.
        limits (KeyChangeLimitsType0 | None | Unset): In place of the tier's; null takes them away.
        tier (KeyChangeTier | Unset):
    """

    biolink_plan: KeyChangeBiolinkPlan | Unset = UNSET
    disabled: bool | Unset = UNSET
    expires_at: datetime.datetime | None | Unset = UNSET
    limits: KeyChangeLimitsType0 | None | Unset = UNSET
    tier: KeyChangeTier | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.key_change_limits_type_0 import KeyChangeLimitsType0

        biolink_plan: str | Unset = UNSET
        if not isinstance(self.biolink_plan, Unset):
            biolink_plan = self.biolink_plan.value

        disabled = self.disabled

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
        elif isinstance(self.limits, KeyChangeLimitsType0):
            limits = self.limits.to_dict()
        else:
            limits = self.limits

        tier: str | Unset = UNSET
        if not isinstance(self.tier, Unset):
            tier = self.tier.value

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if biolink_plan is not UNSET:
            field_dict["biolink_plan"] = biolink_plan
        if disabled is not UNSET:
            field_dict["disabled"] = disabled
        if expires_at is not UNSET:
            field_dict["expires_at"] = expires_at
        if limits is not UNSET:
            field_dict["limits"] = limits
        if tier is not UNSET:
            field_dict["tier"] = tier

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.key_change_limits_type_0 import KeyChangeLimitsType0

        d = dict(src_dict)
        _biolink_plan = d.pop("biolink_plan", UNSET)
        biolink_plan: KeyChangeBiolinkPlan | Unset
        if isinstance(_biolink_plan, Unset):
            biolink_plan = UNSET
        else:
            biolink_plan = KeyChangeBiolinkPlan(_biolink_plan)

        disabled = d.pop("disabled", UNSET)

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

        def _parse_limits(data: object) -> KeyChangeLimitsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                limits_type_0 = KeyChangeLimitsType0.from_dict(data)

                return limits_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(KeyChangeLimitsType0 | None | Unset, data)

        limits = _parse_limits(d.pop("limits", UNSET))

        _tier = d.pop("tier", UNSET)
        tier: KeyChangeTier | Unset
        if isinstance(_tier, Unset):
            tier = UNSET
        else:
            tier = KeyChangeTier(_tier)

        key_change = cls(
            biolink_plan=biolink_plan,
            disabled=disabled,
            expires_at=expires_at,
            limits=limits,
            tier=tier,
        )

        return key_change
