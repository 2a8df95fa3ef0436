from enum import StrEnum


class IssuedKeyBiolinkPlan(StrEnum):
    BUSINESS = "business"
    NONE = "none"
    STANDARD = "standard"

    def __str__(self) -> str:
        return str(self.value)
