from enum import StrEnum


class IssueRequestBiolinkPlan(StrEnum):
    BUSINESS = "business"
    NONE = "none"
    STANDARD = "standard"

    def __str__(self) -> str:
        return str(self.value)
