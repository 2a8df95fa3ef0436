from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.issued_key_biolink_plan import IssuedKeyBiolinkPlan
from ..models.issued_key_status import IssuedKeyStatus
from ..models.issued_key_tier import IssuedKeyTier

if TYPE_CHECKING:
    from ..models.issued_key_holder_type_0 import IssuedKeyHolderType0
    from ..models.limit import Limit


T = TypeVar("T", bound="IssuedKey")


@_attrs_define
class IssuedKey:
    """
    Attributes:
        biolink_plan (IssuedKeyBiolinkPlan):
        expires_at (datetime.datetime | None):
        holder (IssuedKeyHolderType0 | None): Whom the key was issued to; null if that is not known here.
        id (str): The key's public name. Example: key_0123456789abcdefg.
        issued_at (datetime.datetime):
        key (str): The key itself: keep it.
        limits (list[Limit]):
        status (IssuedKeyStatus):
        tier (IssuedKeyTier):
    """

    biolink_plan: IssuedKeyBiolinkPlan
    expires_at: datetime.datetime | None
    holder: IssuedKeyHolderType0 | None
    id: str
    issued_at: datetime.datetime
    key: str
    limits: list[Limit]
    status: IssuedKeyStatus
    tier: IssuedKeyTier
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.issued_key_holder_type_0 import IssuedKeyHolderType0

        biolink_plan = self.biolink_plan.value

        expires_at: None | str
        if isinstance(self.expires_at, datetime.datetime):
            expires_at = self.expires_at.isoformat()
        else:
            expires_at = self.expires_at

        holder: dict[str, Any] | None
        if isinstance(self.holder, IssuedKeyHolderType0):
            holder = self.holder.to_dict()
        else:
            holder = self.holder

        id = self.id

        issued_at = self.issued_at.isoformat()

        key = self.key

        limits = []
        for limits_item_data in self.limits:
            limits_item = limits_item_data.to_dict()
            limits.append(limits_item)

        status = self.status.value

        tier = self.tier.value

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "biolink_plan": biolink_plan,
                "expires_at": expires_at,
                "holder": holder,
                "id": id,
                "issued_at": issued_at,
                "key": key,
                "limits": limits,
                "status": status,
                "tier": tier,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.issued_key_holder_type_0 import IssuedKeyHolderType0
        from ..models.limit import Limit

        d = dict(src_dict)
        biolink_plan = IssuedKeyBiolinkPlan(d.pop("biolink_plan"))

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

        def _parse_holder(data: object) -> IssuedKeyHolderType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                holder_type_0 = IssuedKeyHolderType0.from_dict(data)

                return holder_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(IssuedKeyHolderType0 | None, data)

        holder = _parse_holder(d.pop("holder"))

        id = d.pop("id")

        issued_at = datetime.datetime.fromisoformat(d.pop("issued_at"))

        key = d.pop("key")

        limits = []
        _limits = d.pop("limits")
        for limits_item_data in _limits:
            limits_item = Limit.from_dict(limits_item_data)

            limits.append(limits_item)

        status = IssuedKeyStatus(d.pop("status"))

        tier = IssuedKeyTier(d.pop("tier"))

        issued_key = cls(
            biolink_plan=biolink_plan,
            expires_at=expires_at,
            holder=holder,
            id=id,
            issued_at=issued_at,
            key=key,
            limits=limits,
            status=status,
            tier=tier,
        )

        issued_key.additional_properties = d
        return issued_key

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
