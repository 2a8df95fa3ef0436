//! The text of labels: calls are counted by the names of tools.

use std::num::NonZeroU8;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use strum::ParseError;

use super::Tool;
use crate::label::Label;

impl Tool {
    /// Returns what calls of the tool are counted by.
    pub const fn label(self) -> Label {
        // No tool has the code 0.
        Label::new(match NonZeroU8::new(self.code()) {
            Some(code) => code,
            None => NonZeroU8::MIN,
        })
    }
}

impl From<Tool> for Label {
    fn from(tool: Tool) -> Self {
        tool.label()
    }
}

impl Label {
    /// Returns the label with this code, if it has a name.
    pub fn from_code(code: u8) -> Option<Self> {
        Tool::from_code(code).map(Self::from)
    }

    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        Tool::from_code(self.code()).map_or("", Tool::as_str)
    }
}

impl FromStr for Label {
    type Err = ParseError;

    fn from_str(name: &str) -> Result<Self, ParseError> {
        name.parse().map(Tool::label)
    }
}

impl Serialize for Label {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Tool::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_has_the_name_of_its_tool() {
        for tool in Tool::ALL {
            let label = Label::from(tool);
            assert_eq!((label.as_str(), label.code()), (tool.as_str(), tool.code()));
            assert_eq!((label.as_str().parse(), Label::from_code(label.code())), (Ok(label), Some(label)));
            let text = serde_json::to_string(&label).unwrap();
            assert_eq!(text, serde_json::to_string(&tool).unwrap());
            assert_eq!(serde_json::from_str::<Label>(&text).unwrap(), label);
        }
        assert_eq!((Label::from_code(0), Label::from_code(200)), (None, None));
    }
}
