//! The value of a parameter as people type it: `day=1998-09-02`, or for one file of a folder `q4:day=1998-09-02`.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A name and its value; in a specification the same text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Definition {
    pub name: String,
    pub value: String,
}

impl FromStr for Definition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_name = |name: &str| {
            !name.is_empty()
                && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
                && !name.starts_with(|letter: char| letter.is_ascii_digit())
        };
        // The file's name may have any letters.
        let own = |name: &str| name.rsplit_once(':').is_none_or(|(file, _)| !file.is_empty());
        let last = |name: &str| is_name(name.rsplit(':').next().unwrap_or_default());
        match text.split_once('=') {
            Some((name, value)) if own(name) && last(name) => {
                Ok(Self { name: name.to_owned(), value: value.to_owned() })
            }
            _ => Err(format!("`{text}` is no NAME=VALUE, such as day=1998-09-02")),
        }
    }
}

impl TryFrom<String> for Definition {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Definition> for String {
    fn from(Definition { name, value }: Definition) -> Self {
        format!("{name}={value}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_may_hold_anything() {
        for text in ["day=1998-09-02", "n=", "a_1=b = c", "q 4.sql:day=a:b"] {
            assert_eq!(
                text.parse().map(|definition: Definition| String::from(definition)).as_deref(),
                Ok(text)
            );
        }
        for wrong in ["day", "=1", "1a=2", "a b=c", ":a=b", "q4:=1", "q4:1=2"] {
            assert!(wrong.parse::<Definition>().is_err(), "{wrong}");
        }
    }
}
