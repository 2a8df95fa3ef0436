from enum import StrEnum


class ProblemViolatedPoliciesItem(StrEnum):
    DAY = "day"
    MINUTE = "minute"

    def __str__(self) -> str:
        return str(self.value)
