//! `[log]`: the access log and the diagnostic log.

use std::path::PathBuf;

use log::LevelFilter;

use super::reader::choice::{choice, choices};
use super::reader::effective::{ToToml, quoted};
use super::reader::{Entry, Section, ValueError};

/// The access log and the diagnostic log.
#[derive(Clone, Copy, Debug)]
pub struct LogConfig {
    /// The target of access log lines.
    pub access: AccessTarget,
    /// The requests that are logged.
    pub detail: AccessDetail,
    /// The fields of JSON lines. `None` for lines in the format `combined`.
    pub fields: Option<LogFields>,
    /// The minimum level of diagnostic log lines.
    pub level: LevelFilter,
    /// The format of diagnostic log lines.
    pub diagnostics: DiagnosticFormat,
}

/// The target of access log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessTarget {
    /// Standard output.
    Stdout,
    /// Nowhere.
    Off,
}

/// The detail of the access log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessDetail {
    /// Only requests that were refused, ended with a 5xx, or got no response or an incomplete one.
    Failures,
    /// Every request.
    Calls,
    /// Every request, with timings.
    Timings,
}

/// The format of diagnostic log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagnosticFormat {
    /// `[time level module] message`.
    Text,
    /// One JSON object for each record.
    Json,
}

/// The format of access log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogFormat {
    /// One JSON object for each line.
    Json,
    /// The format that nginx and Apache call `combined`.
    Combined,
}

choices! {
    AccessTarget: "access log target" { "stdout" => Self::Stdout, "off" => Self::Off }
    AccessDetail: "detail" {
        "failures" => Self::Failures,
        "calls" => Self::Calls,
        "timings" => Self::Timings,
    }
    DiagnosticFormat: "format" { "text" => Self::Text, "json" => Self::Json }
    LogFormat: "format" { "json" => Self::Json, "combined" => Self::Combined }
}

macro_rules! log_fields {
    ($($variant:ident: $name:literal,)*) => {
        /// A field of a JSON line. The discriminants are bits of [`LogFields`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum LogField {
            $(#[doc = concat!("`", $name, "`.")] $variant,)*
        }

        choices! { LogField: "field" { $($name => Self::$variant),* } }

        impl LogField {
            /// Returns the beginning of its member in a JSON object, with the comma before it.
            pub const fn key(self) -> &'static str {
                match self { $(Self::$variant => concat!(",\"", $name, "\":"),)* }
            }
        }
    };
}

log_fields! {
    Time: "time",
    RequestId: "request_id",
    KeyId: "key_id",
    SecretId: "secret_id",
    Tier: "tier",
    Method: "method",
    Tool: "tool",
    Action: "action",
    Status: "status",
    Code: "code",
    GrantRefusal: "grant_refusal",
    EdgeRequestId: "edge_request_id",
    Aborted: "aborted",
    Upstream: "upstream",
    Tries: "tries",
    DurationMs: "duration_ms",
    ResponseBytes: "response_bytes",
    Units: "units",
    TraceId: "trace_id",
    SpanId: "span_id",
    OverheadMs: "overhead_ms",
    UpstreamMs: "upstream_ms",
    RequestBytes: "request_bytes",
    ClientAddress: "client_address",
    Path: "path",
    Protocol: "protocol",
    Referer: "referer",
    UserAgent: "user_agent",
}

/// A set of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogFields(u32);

/// The bit of the trace id of a caller whose call is not exported.
const CALLER_TRACE: u32 = 1 << 31;

/// The fields of every line.
const USUAL: LogFields = LogFields::of(&[
    LogField::Time,
    LogField::RequestId,
    LogField::KeyId,
    LogField::SecretId,
    LogField::Tier,
    LogField::Method,
    LogField::Tool,
    LogField::Action,
    LogField::Status,
    LogField::Code,
    LogField::GrantRefusal,
    LogField::EdgeRequestId,
    LogField::Aborted,
    LogField::Upstream,
    LogField::Tries,
    LogField::DurationMs,
    LogField::ResponseBytes,
    LogField::Units,
    LogField::TraceId,
    LogField::SpanId,
]);

/// The fields that `detail = "timings"` adds.
const TIMINGS: LogFields = LogFields(
    LogFields::of(&[LogField::OverheadMs, LogField::UpstreamMs, LogField::RequestBytes]).0 | CALLER_TRACE,
);

/// The fields with what a client says of itself.
const OF_CLIENT: LogFields = LogFields::of(&[
    LogField::ClientAddress,
    LogField::Path,
    LogField::Protocol,
    LogField::Referer,
    LogField::UserAgent,
]);

impl LogFields {
    const fn of(fields: &[LogField]) -> Self {
        let (mut bits, mut rest) = (0, fields);
        while let [field, others @ ..] = rest {
            bits |= 1 << *field as u32;
            rest = others;
        }
        Self(bits)
    }

    /// Returns the fields of a detail.
    pub const fn of_detail(detail: AccessDetail) -> Self {
        match detail {
            AccessDetail::Failures | AccessDetail::Calls => USUAL,
            AccessDetail::Timings => Self(USUAL.0 | TIMINGS.0),
        }
    }

    /// Returns the set as bits. They are never 0.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Returns the set of these bits. `None` if they are 0.
    pub const fn from_bits(bits: u32) -> Option<Self> {
        if bits == 0 { None } else { Some(Self(bits)) }
    }

    /// Returns true if lines have the field.
    pub const fn has(self, field: LogField) -> bool {
        self.0 & 1 << field as u32 != 0
    }

    /// Returns true if lines have the caller's trace id, whether its call is exported or not.
    pub const fn has_callers_trace(self) -> bool {
        self.0 & CALLER_TRACE != 0
    }

    /// Returns true if lines say something of the client.
    pub const fn has_client(self) -> bool {
        self.0 & OF_CLIENT.0 != 0
    }
}

/// The log levels. `trace` is missing because nothing logs at it.
const LEVELS: [LevelFilter; 5] =
    [LevelFilter::Off, LevelFilter::Error, LevelFilter::Warn, LevelFilter::Info, LevelFilter::Debug];

/// Reads `[log]`. Returns the file of the access log apart, because it needs a restart.
pub(super) fn read(section: &mut Section<'_>) -> (LogConfig, Option<PathBuf>) {
    let access = section.read("access", AccessTarget::Stdout, choice);
    let file = section.read("file", None, |entry| entry.absolute_path().map(Some));
    let format = section.read("format", LogFormat::Json, choice);
    let detail = section.read("detail", AccessDetail::Calls, choice);
    let chosen = section.read("fields", Vec::new(), fields);
    let level = section.read("level", LevelFilter::Info, level);
    let diagnostics = section.read("diagnostics", DiagnosticFormat::Text, choice);
    let fields = match (format, chosen.as_slice()) {
        (LogFormat::Json, []) => Some(LogFields::of_detail(detail)),
        (LogFormat::Json, chosen) => Some(with_callers_trace(LogFields::of(chosen))),
        (LogFormat::Combined, chosen) => {
            if !chosen.is_empty() {
                section
                    .fault_at("fields", "needs log.format = \"json\": the format combined has fixed fields");
            }
            if detail == AccessDetail::Timings {
                section.fault_at(
                    "detail",
                    "`timings` needs log.format = \"json\": the format combined has none",
                );
            }
            None
        }
    };
    (LogConfig { access, detail, fields, level, diagnostics }, file)
}

/// Whoever chooses the trace id wants it of every caller that has one.
const fn with_callers_trace(fields: LogFields) -> LogFields {
    match fields.has(LogField::TraceId) {
        true => LogFields(fields.0 | CALLER_TRACE),
        false => fields,
    }
}

fn fields(entry: &Entry<'_>) -> Result<Vec<LogField>, ValueError> {
    let mut chosen = Vec::new();
    for element in entry.elements()? {
        match element.read(choice) {
            Some(field) if chosen.contains(&field) => {
                element.fault(format!("`{}` is a field already: expected each one once", element.text()?));
            }
            Some(field) => chosen.push(field),
            None => {}
        }
    }
    Ok(chosen)
}

fn level(entry: &Entry<'_>) -> Result<LevelFilter, ValueError> {
    let text = entry.text()?;
    let level = LEVELS.into_iter().find(|level| level.as_str().eq_ignore_ascii_case(&text));
    level.ok_or_else(|| ValueError::invalid("log level", text, "off, error, warn, info or debug"))
}

impl ToToml for LevelFilter {
    fn to_toml(&self) -> Option<String> {
        Some(quoted(&self.as_str().to_lowercase()))
    }
}
