from enum import StrEnum


class ProblemNearestItem(StrEnum):
    BIOLINK = "biolink"
    BUILD = "build"
    COVER = "cover"
    DECKS = "decks"
    FLIP = "flip"
    FLOW = "flow"
    IDEA = "idea"
    IMAGE = "image"
    LEADS = "leads"
    LEARN = "learn"
    NARRATE = "narrate"
    PDF = "pdf"
    QR = "qr"
    SEO = "seo"
    SPEECH = "speech"
    TRANSCRIBE = "transcribe"
    YT = "yt"

    def __str__(self) -> str:
        return str(self.value)
