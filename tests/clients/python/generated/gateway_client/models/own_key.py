from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.own_key_biolink_plan import OwnKeyBiolinkPlan
from ..models.own_key_status import OwnKeyStatus
from ..models.own_key_tier import OwnKeyTier

if TYPE_CHECKING:
    from ..models.limit import Limit
    from ..models.own_key_holder_type_0 import OwnKeyHolderType0
    from ..models.own_key_rotation_type_0 import OwnKeyRotationType0
    from ..models.own_key_today import OwnKeyToday
    from ..models.own_key_usage import OwnKeyUsage


T = TypeVar("T", bound="OwnKey")


@_attrs_define
class OwnKey:
    """
    Attributes:
        biolink_plan (OwnKeyBiolinkPlan):
        expires_at (datetime.datetime | None):
        holder (None | OwnKeyHolderType0): Whom the key was issued to; null if that is not known here.
        id (str): The key's public name. Example: key_0123456789abcdefg.
        issued_at (datetime.datetime):
        last_used_at (datetime.datetime | None):
        limits (list[Limit]):
        rotation (None | OwnKeyRotationType0): While a replaced key is still good.
        status (OwnKeyStatus):
        tier (OwnKeyTier):
        today (OwnKeyToday):
        usage (OwnKeyUsage):
    """

    biolink_plan: OwnKeyBiolinkPlan
    expires_at: datetime.datetime | None
    holder: None | OwnKeyHolderType0
    id: str
    issued_at: datetime.datetime
    last_used_at: datetime.datetime | None
    limits: list[Limit]
    rotation: None | OwnKeyRotationType0
    status: OwnKeyStatus
    tier: OwnKeyTier
    today: OwnKeyToday
    usage: OwnKeyUsage
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.own_key_holder_type_0 import OwnKeyHolderType0
        from ..models.own_key_rotation_type_0 import OwnKeyRotationType0

        biolink_plan = self.biolink_plan.value

        expires_at: None | str
        if isinstance(self.expires_at, datetime.datetime):
            expires_at = self.expires_at.isoformat()
        else:
            expires_at = self.expires_at

        holder: dict[str, Any] | None
        if isinstance(self.holder, OwnKeyHolderType0):
            holder = self.holder.to_dict()
        else:
            holder = self.holder

        id = self.id

        issued_at = self.issued_at.isoformat()

        last_used_at: None | str
        if isinstance(self.last_used_at, datetime.datetime):
            last_used_at = self.last_used_at.isoformat()
        else:
            last_used_at = self.last_used_at

        limits = []
        for limits_item_data in self.limits:
            limits_item = limits_item_data.to_dict()
            limits.append(limits_item)

        rotation: dict[str, Any] | None
        if isinstance(self.rotation, OwnKeyRotationType0):
            rotation = self.rotation.to_dict()
        else:
            rotation = self.rotation

        status = self.status.value

        tier = self.tier.value

        today = self.today.to_dict()

        usage = self.usage.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "biolink_plan": biolink_plan,
                "expires_at": expires_at,
                "holder": holder,
                "id": id,
                "issued_at": issued_at,
                "last_used_at": last_used_at,
                "limits": limits,
                "rotation": rotation,
                "status": status,
                "tier": tier,
                "today": today,
                "usage": usage,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.limit import Limit
        from ..models.own_key_holder_type_0 import OwnKeyHolderType0
        from ..models.own_key_rotation_type_0 import OwnKeyRotationType0
        from ..models.own_key_today import OwnKeyToday
        from ..models.own_key_usage import OwnKeyUsage

        d = dict(src_dict)
        biolink_plan = OwnKeyBiolinkPlan(d.pop("biolink_plan"))

        def _parse_expires_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                expires_at_type_0 = datetime.datetime.fromisoformat(data)

                return expires_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        expires_at = _parse_expires_at(d.pop("expires_at"))

        def _parse_holder(data: object) -> None | OwnKeyHolderType0:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                holder_type_0 = OwnKeyHolderType0.from_dict(data)

                return holder_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | OwnKeyHolderType0, data)

        holder = _parse_holder(d.pop("holder"))

        id = d.pop("id")

        issued_at = datetime.datetime.fromisoformat(d.pop("issued_at"))

        def _parse_last_used_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                last_used_at_type_0 = datetime.datetime.fromisoformat(data)

                return last_used_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        last_used_at = _parse_last_used_at(d.pop("last_used_at"))

        limits = []
        _limits = d.pop("limits")
        for limits_item_data in _limits:
            limits_item = Limit.from_dict(limits_item_data)

            limits.append(limits_item)

        def _parse_rotation(data: object) -> None | OwnKeyRotationType0:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                rotation_type_0 = OwnKeyRotationType0.from_dict(data)

                return rotation_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | OwnKeyRotationType0, data)

        rotation = _parse_rotation(d.pop("rotation"))

        status = OwnKeyStatus(d.pop("status"))

        tier = OwnKeyTier(d.pop("tier"))

        today = OwnKeyToday.from_dict(d.pop("today"))

        usage = OwnKeyUsage.from_dict(d.pop("usage"))

        own_key = cls(
            biolink_plan=biolink_plan,
            expires_at=expires_at,
            holder=holder,
            id=id,
            issued_at=issued_at,
            last_used_at=last_used_at,
            limits=limits,
            rotation=rotation,
            status=status,
            tier=tier,
            today=today,
            usage=usage,
        )

        own_key.additional_properties = d
        return own_key

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
