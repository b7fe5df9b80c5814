//! What a family can be asked besides operation, type and size: `--exclusive`, `--bins 64`, `--border mirror`.

use rustwarp::error::{Error, Result};
use std::collections::BTreeMap;

/// One option of a family.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Behind `--`.
    pub name: &'static str,
    /// In `--help`.
    pub help: &'static str,
    /// It says what data to generate: refused beside `--input`, which leaves nothing to generate.
    pub generated: bool,
    /// What it takes.
    pub kind: Kind,
}

/// What an option takes.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Nothing: it is there or not.
    Flag,
    /// A whole number.
    Number {
        /// When left out.
        default: u64,
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// One of a list; the first when left out.
    Choice(&'static [&'static str]),
    /// Two numbers with a colon between, the first below the second.
    Range {
        /// When left out.
        default: (f64, f64),
    },
}

/// The options of one job; those that nobody gave have their defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    known: BTreeMap<&'static str, Value>,
    /// Those that somebody gave.
    given: Vec<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Flag(bool),
    Number(u64),
    Choice(&'static str),
    Range(f64, f64),
}

impl Setting {
    fn default(&self) -> Value {
        match self.kind {
            Kind::Flag => Value::Flag(false),
            Kind::Number { default, .. } => Value::Number(default),
            Kind::Choice(choices) => Value::Choice(choices.first().copied().unwrap_or_default()),
            Kind::Range { default: (low, high) } => Value::Range(low, high),
        }
    }

    fn parse(&self, text: &str) -> Result<Value> {
        let wrong = |wanted: &str| Error::Usage(format!("--{} {text}: {wanted}", self.name));
        match self.kind {
            Kind::Flag => match text {
                "" | "true" => Ok(Value::Flag(true)),
                _ => Err(wrong("it takes no value")),
            },
            Kind::Number { min, max, .. } => match crate::input::size::parse(text) {
                Ok(number) if (min..=max).contains(&number) => Ok(Value::Number(number)),
                _ => Err(wrong(&format!("it must be a whole number from {min} to {max}"))),
            },
            Kind::Choice(choices) => match choices.iter().find(|choice| **choice == text) {
                Some(choice) => Ok(Value::Choice(choice)),
                None => Err(wrong(&format!("there are: {}", choices.join(" ")))),
            },
            Kind::Range { .. } => {
                let ends = text.split_once(':').and_then(|(low, high)| Some((low.parse().ok()?, high.parse().ok()?)));
                match ends {
                    Some((low, high)) if low < high && f64::is_finite(low) && f64::is_finite(high) => {
                        Ok(Value::Range(low, high))
                    }
                    _ => Err(wrong("it must be LOW:HIGH, two numbers, the first below the second")),
                }
            }
        }
    }
}

impl Settings {
    /// Options by name, each with its text; `""` for a flag.
    ///
    /// # Errors
    /// [`Error::Usage`] for an option that there is not, or that can't be what the text says.
    pub fn new<'t>(settings: &[Setting], given: impl IntoIterator<Item = (&'t str, &'t str)>) -> Result<Self> {
        let mut known: BTreeMap<_, _> = settings.iter().map(|setting| (setting.name, setting.default())).collect();
        let mut names = Vec::new();
        for (name, text) in given {
            let Some(setting) = settings.iter().find(|setting| setting.name == name) else {
                return Err(Error::Usage(format!("there is no --{name} here")));
            };
            known.insert(setting.name, setting.parse(text)?);
            names.push(setting.name);
        }
        Ok(Self { known, given: names })
    }

    /// Somebody gave this option.
    pub fn is_given(&self, name: &str) -> bool {
        self.given.contains(&name)
    }

    /// A flag; false where the family has none of this name.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.known.get(name), Some(Value::Flag(true)))
    }

    /// A number; 0 where the family has none of this name.
    pub fn number(&self, name: &str) -> u64 {
        match self.known.get(name) {
            Some(Value::Number(number)) => *number,
            _ => 0,
        }
    }

    /// A choice; empty where the family has none of this name.
    pub fn choice(&self, name: &str) -> &'static str {
        match self.known.get(name) {
            Some(Value::Choice(choice)) => choice,
            _ => "",
        }
    }

    /// Both ends; zeros where the family has no range of this name.
    pub fn range(&self, name: &str) -> (f64, f64) {
        match self.known.get(name) {
            Some(Value::Range(low, high)) => (*low, *high),
            _ => (0.0, 0.0),
        }
    }

    /// What somebody gave, a default's value too, as it would be typed; in the order of the names.
    pub fn text(&self) -> String {
        let given = self.known.iter().filter(|(name, _)| self.is_given(name)).map(|(name, value)| match value {
            Value::Flag(_) => format!("--{name}"),
            Value::Number(number) => format!("--{name} {number}"),
            Value::Choice(choice) => format!("--{name} {choice}"),
            Value::Range(low, high) => format!("--{name} {low}:{high}"),
        });
        given.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &[Setting] = &[
        Setting { name: "exclusive", help: "", generated: false, kind: Kind::Flag },
        Setting { name: "bins", help: "", generated: false, kind: Kind::Number { default: 256, min: 1, max: 1 << 20 } },
        Setting { name: "border", help: "", generated: false, kind: Kind::Choice(&["zero", "clamp", "mirror"]) },
        Setting { name: "range", help: "", generated: false, kind: Kind::Range { default: (0.0, 1.0) } },
    ];

    #[test]
    fn defaults_and_given_values() {
        let none = Settings::new(ALL, []).expect("the defaults");
        assert!(!none.flag("exclusive") && !none.is_given("bins"));
        assert_eq!((none.number("bins"), none.choice("border"), none.range("range")), (256, "zero", (0.0, 1.0)));
        assert_eq!(none.text(), "");
        let given = [("exclusive", ""), ("bins", "2^10"), ("border", "mirror"), ("range", "-1.5:2")];
        let all = Settings::new(ALL, given).expect("all of them");
        assert!(all.flag("exclusive"));
        assert_eq!((all.number("bins"), all.choice("border"), all.range("range")), (1024, "mirror", (-1.5, 2.0)));
        assert_eq!(all.text(), "--bins 1024 --border mirror --exclusive --range -1.5:2");
    }

    #[test]
    fn refusals_say_what_there_is() {
        let refusal = |name, text| Settings::new(ALL, [(name, text)]).expect_err("refused").to_string();
        assert!(refusal("bins", "0").contains("1 to 1048576"));
        assert!(refusal("border", "wrap").contains("zero clamp mirror"));
        for text in ["1", "2:1", "a:b", "0:inf", "nan:1"] {
            assert!(refusal("range", text).contains("LOW:HIGH"), "{text}");
        }
        assert!(refusal("exclusive", "maybe").contains("no value"));
        assert!(refusal("depth", "3").contains("no --depth"));
    }
}
