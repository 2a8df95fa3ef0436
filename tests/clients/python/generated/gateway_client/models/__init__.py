"""Contains all the data models used in inputs/outputs"""

from .biolink_get_query import BiolinkGetQuery
from .biolink_post_body import BiolinkPostBody
from .biolink_post_query import BiolinkPostQuery
from .build_get_query import BuildGetQuery
from .build_post_body import BuildPostBody
from .build_post_query import BuildPostQuery
from .cover_get_query import CoverGetQuery
from .cover_post_body import CoverPostBody
from .cover_post_query import CoverPostQuery
from .decks_get_query import DecksGetQuery
from .decks_post_body import DecksPostBody
from .decks_post_query import DecksPostQuery
from .fault import Fault
from .flip_get_query import FlipGetQuery
from .flip_post_body import FlipPostBody
from .flip_post_query import FlipPostQuery
from .flow_get_query import FlowGetQuery
from .flow_post_body import FlowPostBody
from .flow_post_query import FlowPostQuery
from .health import Health
from .health_status import HealthStatus
from .idea_get_query import IdeaGetQuery
from .idea_post_body import IdeaPostBody
from .idea_post_query import IdeaPostQuery
from .image_get_query import ImageGetQuery
from .image_post_body import ImagePostBody
from .image_post_query import ImagePostQuery
from .issue_request import IssueRequest
from .issue_request_biolink_plan import IssueRequestBiolinkPlan
from .issue_request_limits_type_0 import IssueRequestLimitsType0
from .issue_request_tier import IssueRequestTier
from .issued_key import IssuedKey
from .issued_key_biolink_plan import IssuedKeyBiolinkPlan
from .issued_key_holder_type_0 import IssuedKeyHolderType0
from .issued_key_status import IssuedKeyStatus
from .issued_key_tier import IssuedKeyTier
from .key import Key
from .key_biolink_plan import KeyBiolinkPlan
from .key_change import KeyChange
from .key_change_biolink_plan import KeyChangeBiolinkPlan
from .key_change_limits_type_0 import KeyChangeLimitsType0
from .key_change_tier import KeyChangeTier
from .key_holder_type_0 import KeyHolderType0
from .key_page import KeyPage
from .key_status import KeyStatus
from .key_tier import KeyTier
from .leads_get_query import LeadsGetQuery
from .leads_post_body import LeadsPostBody
from .leads_post_query import LeadsPostQuery
from .learn_get_query import LearnGetQuery
from .learn_post_body import LearnPostBody
from .learn_post_query import LearnPostQuery
from .limit import Limit
from .limit_name import LimitName
from .narrate_get_query import NarrateGetQuery
from .narrate_post_body import NarratePostBody
from .narrate_post_query import NarratePostQuery
from .openapi_response_200 import OpenapiResponse200
from .own_key import OwnKey
from .own_key_biolink_plan import OwnKeyBiolinkPlan
from .own_key_holder_type_0 import OwnKeyHolderType0
from .own_key_rotation_type_0 import OwnKeyRotationType0
from .own_key_status import OwnKeyStatus
from .own_key_tier import OwnKeyTier
from .own_key_today import OwnKeyToday
from .own_key_today_by_status import OwnKeyTodayByStatus
from .own_key_today_by_tool import OwnKeyTodayByTool
from .own_key_usage import OwnKeyUsage
from .pdf_get_query import PdfGetQuery
from .pdf_post_body import PdfPostBody
from .pdf_post_query import PdfPostQuery
from .problem import Problem
from .problem_code import ProblemCode
from .problem_nearest_item import ProblemNearestItem
from .problem_page_code import ProblemPageCode
from .problem_violated_policies_item import ProblemViolatedPoliciesItem
from .qr_get_query import QrGetQuery
from .qr_post_body import QrPostBody
from .qr_post_query import QrPostQuery
from .rotated_key import RotatedKey
from .rotated_key_biolink_plan import RotatedKeyBiolinkPlan
from .rotated_key_holder_type_0 import RotatedKeyHolderType0
from .rotated_key_rotation import RotatedKeyRotation
from .rotated_key_status import RotatedKeyStatus
from .rotated_key_tier import RotatedKeyTier
from .rotation import Rotation
from .seo_get_query import SeoGetQuery
from .seo_post_body import SeoPostBody
from .seo_post_query import SeoPostQuery
from .speech_get_query import SpeechGetQuery
from .speech_post_body import SpeechPostBody
from .speech_post_query import SpeechPostQuery
from .status_report import StatusReport
from .status_report_status import StatusReportStatus
from .status_report_tools_item import StatusReportToolsItem
from .status_report_tools_item_tool import StatusReportToolsItemTool
from .transcribe_get_query import TranscribeGetQuery
from .transcribe_post_body import TranscribePostBody
from .transcribe_post_query import TranscribePostQuery
from .window_usage import WindowUsage
from .yt_get_query import YtGetQuery
from .yt_post_body import YtPostBody
from .yt_post_query import YtPostQuery

__all__ = (
    "BiolinkGetQuery",
    "BiolinkPostBody",
    "BiolinkPostQuery",
    "BuildGetQuery",
    "BuildPostBody",
    "BuildPostQuery",
    "CoverGetQuery",
    "CoverPostBody",
    "CoverPostQuery",
    "DecksGetQuery",
    "DecksPostBody",
    "DecksPostQuery",
    "Fault",
    "FlipGetQuery",
    "FlipPostBody",
    "FlipPostQuery",
    "FlowGetQuery",
    "FlowPostBody",
    "FlowPostQuery",
    "Health",
    "HealthStatus",
    "IdeaGetQuery",
    "IdeaPostBody",
    "IdeaPostQuery",
    "ImageGetQuery",
    "ImagePostBody",
    "ImagePostQuery",
    "IssueRequest",
    "IssueRequestBiolinkPlan",
    "IssueRequestLimitsType0",
    "IssueRequestTier",
    "IssuedKey",
    "IssuedKeyBiolinkPlan",
    "IssuedKeyHolderType0",
    "IssuedKeyStatus",
    "IssuedKeyTier",
    "Key",
    "KeyBiolinkPlan",
    "KeyChange",
    "KeyChangeBiolinkPlan",
    "KeyChangeLimitsType0",
    "KeyChangeTier",
    "KeyHolderType0",
    "KeyPage",
    "KeyStatus",
    "KeyTier",
    "LeadsGetQuery",
    "LeadsPostBody",
    "LeadsPostQuery",
    "LearnGetQuery",
    "LearnPostBody",
    "LearnPostQuery",
    "Limit",
    "LimitName",
    "NarrateGetQuery",
    "NarratePostBody",
    "NarratePostQuery",
    "OpenapiResponse200",
    "OwnKey",
    "OwnKeyBiolinkPlan",
    "OwnKeyHolderType0",
    "OwnKeyRotationType0",
    "OwnKeyStatus",
    "OwnKeyTier",
    "OwnKeyToday",
    "OwnKeyTodayByStatus",
    "OwnKeyTodayByTool",
    "OwnKeyUsage",
    "PdfGetQuery",
    "PdfPostBody",
    "PdfPostQuery",
    "Problem",
    "ProblemCode",
    "ProblemNearestItem",
    "ProblemPageCode",
    "ProblemViolatedPoliciesItem",
    "QrGetQuery",
    "QrPostBody",
    "QrPostQuery",
    "RotatedKey",
    "RotatedKeyBiolinkPlan",
    "RotatedKeyHolderType0",
    "RotatedKeyRotation",
    "RotatedKeyStatus",
    "RotatedKeyTier",
    "Rotation",
    "SeoGetQuery",
    "SeoPostBody",
    "SeoPostQuery",
    "SpeechGetQuery",
    "SpeechPostBody",
    "SpeechPostQuery",
    "StatusReport",
    "StatusReportStatus",
    "StatusReportToolsItem",
    "StatusReportToolsItemTool",
    "TranscribeGetQuery",
    "TranscribePostBody",
    "TranscribePostQuery",
    "WindowUsage",
    "YtGetQuery",
    "YtPostBody",
    "YtPostQuery",
)
