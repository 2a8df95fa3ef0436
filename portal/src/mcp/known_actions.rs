//! The actions of tools that are known when the worker is built, for the description of `call_tool`.

use shared::tool::Tool;

/// Returns the actions that a tool is known to have. It may have more.
pub(super) const fn known_actions(tool: Tool) -> &'static [&'static str] {
    match tool {
        Tool::Image | Tool::Qr => &["generate"],
        Tool::Biolink
        | Tool::Build
        | Tool::Cover
        | Tool::Decks
        | Tool::Flip
        | Tool::Flow
        | Tool::Idea
        | Tool::Leads
        | Tool::Learn
        | Tool::Narrate
        | Tool::Pdf
        | Tool::Seo
        | Tool::Speech
        | Tool::Transcribe
        | Tool::Yt => &[],
    }
}
