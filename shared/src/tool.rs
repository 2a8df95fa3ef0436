//! The 17 tools of the gateway (spec section 1). A new tool is a new variant: the compiler names
//! every table that has to learn of it.

mod label;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::fields::edit_distance;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

/// One of the tools behind `/v1/{tool}/{action}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
#[allow(missing_docs, reason = "`purpose` says what each one is for")]
pub enum Tool {
    Biolink,
    Build,
    Cover,
    Decks,
    Flip,
    Flow,
    Idea,
    Image,
    Leads,
    Learn,
    Narrate,
    Pdf,
    Qr,
    Seo,
    Speech,
    Transcribe,
    Yt,
}

crate::named!(Tool);

impl Tool {
    /// Every tool once, in alphabetical order.
    pub const ALL: [Self; 17] = *Self::VARIANTS.as_array().unwrap();

    /// Returns the tool's place in [`Tool::ALL`], for tables with one entry per tool.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns one byte for signed payloads and for what is stored. Programs of several versions
    /// read them, so that a tool keeps its code for ever, wherever it stands in [`Tool::ALL`].
    pub const fn code(self) -> u8 {
        match self {
            Self::Biolink => 1,
            Self::Build => 2,
            Self::Cover => 3,
            Self::Decks => 4,
            Self::Flip => 5,
            Self::Flow => 6,
            Self::Idea => 7,
            Self::Image => 8,
            Self::Leads => 9,
            Self::Learn => 10,
            Self::Narrate => 11,
            Self::Pdf => 12,
            Self::Qr => 13,
            Self::Seo => 14,
            Self::Speech => 15,
            Self::Transcribe => 16,
            Self::Yt => 17,
        }
    }

    /// Returns the tool of a [`Tool::code`]; `None` for any other byte.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.code() == code)
    }

    /// Returns the tool's purpose, in the words of the spec.
    pub const fn purpose(self) -> &'static str {
        match self {
            Self::Biolink => "bio link page generation",
            Self::Build => "website builder (AI-powered)",
            Self::Cover => "cover image creation",
            Self::Decks => "slide deck creation and export",
            Self::Flip => "document flip and format conversion",
            Self::Flow => "automation and integration workflow engine",
            Self::Idea => "idea generation and analysis",
            Self::Image => "AI image generation from text prompts",
            Self::Leads => "lead enrichment and qualification",
            Self::Learn => "learning content management",
            Self::Narrate => "narration and voiceover pipeline",
            Self::Pdf => "PDF processing and manipulation",
            Self::Qr => "QR code generation in multiple formats",
            Self::Seo => "SEO analysis and content optimization",
            Self::Speech => "text-to-speech voice synthesis",
            Self::Transcribe => "audio transcription and captioning",
            Self::Yt => "video content processing",
        }
    }

    /// Returns up to three tools whose names are closest to `segment`, best first, for the caller
    /// who mistyped.
    pub fn nearest(segment: &str) -> Vec<Self> {
        let lower: String = segment.chars().take(32).flat_map(char::to_lowercase).collect();
        let rank = |tool: Self| (edit_distance(&lower, tool.as_str()), tool);
        let mut ranked: BinaryHeap<_> = Self::ALL.into_iter().map(|tool| Reverse(rank(tool))).collect();
        std::iter::from_fn(|| ranked.pop()).take(3).map(|Reverse((_, tool))| tool).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_is_found_by_its_exact_name_only() {
        for tool in Tool::ALL {
            assert_eq!(tool.as_str().parse::<Tool>(), Ok(tool));
            assert_eq!(tool.as_str().to_uppercase().parse::<Tool>().ok(), None);
            assert_eq!(Tool::ALL[tool.index()], tool);
        }
        assert_eq!("keys".parse::<Tool>().ok(), None);
    }

    #[test]
    fn every_tool_has_its_own_code() {
        for tool in Tool::ALL {
            assert_eq!(Tool::from_code(tool.code()), Some(tool));
        }
        assert_eq!(Tool::from_code(0), None);
    }

    #[test]
    fn every_tool_has_its_own_purpose() {
        let purposes: std::collections::HashSet<_> = Tool::ALL.map(Tool::purpose).into();
        assert_eq!(purposes.len(), Tool::ALL.len());
    }

    #[test]
    fn mistyped_tool_gets_the_nearest_one() {
        assert_eq!(Tool::nearest("qrr").first(), Some(&Tool::Qr));
        assert_eq!(Tool::nearest("Transcrib").first(), Some(&Tool::Transcribe));
        assert_eq!(Tool::nearest("speach").first(), Some(&Tool::Speech));
    }
}
