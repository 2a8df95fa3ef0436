from enum import StrEnum


class StatusReportStatus(StrEnum):
    DEGRADED = "degraded"
    OPERATIONAL = "operational"
    OUTAGE = "outage"

    def __str__(self) -> str:
        return str(self.value)
