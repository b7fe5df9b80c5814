//! Options of a family besides operation, type and size: `--exclusive`, `--bins 64`, `--border mirror`.
//!
//! A family declares each option as a constant of its kind, lists it, and reads its value by that constant, so that an
//! option that does not exist, or is of another kind, is a compile error.

use super::spelling::option;
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::fmt;

/// One option of a family: of a known kind `K`, or of any in a family's list.
#[derive(Clone, Copy, Debug)]
pub struct Setting<K = Kind> {
    /// Name after `--`.
    pub name: &'static str,
    /// Text in `--help`.
    pub help: &'static str,
    /// Whether it describes generated data and is therefore refused together with `--input`.
    pub generated: bool,
    /// The kind of its value.
    pub kind: K,
}

/// The kind of an option's value.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// No value: the option is present or absent.
    Flag,
    /// A whole number.
    Number(Number),
    /// One of a list.
    Choice(Choice),
    /// Two numbers.
    Range(Range),
}

/// An option without a value, which is present or absent.
#[derive(Clone, Copy, Debug)]
pub struct Flag;

/// A whole number.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    /// Value if the option is absent.
    pub default: u64,
    /// Smallest valid number.
    pub min: u64,
    /// Largest valid number.
    pub max: u64,
}

/// One of a list, which is not empty; the first is the default.
#[derive(Clone, Copy, Debug)]
pub struct Choice(pub &'static [&'static str]);

/// Two numbers separated by a colon, the first below the second.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// Value if the option is absent.
    pub default: (f64, f64),
}

/// The options that were given for one job; the others have their defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    given: BTreeMap<&'static str, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Flag,
    Number(u64),
    Choice(&'static str),
    Range(f64, f64),
}

impl<K> fmt::Display for Setting<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&option(self.name))
    }
}

impl<K: Copy> Setting<K> {
    const fn with_kind(self, kind: Kind) -> Setting {
        Setting { name: self.name, help: self.help, generated: self.generated, kind }
    }
}

impl Setting<Flag> {
    /// Converts the option for a family's list.
    pub const fn listed(self) -> Setting {
        self.with_kind(Kind::Flag)
    }
}

impl Setting<Number> {
    /// Converts the option for a family's list.
    pub const fn listed(self) -> Setting {
        let Number { default, min, max } = self.kind;
        assert!(min <= default && default <= max);
        self.with_kind(Kind::Number(self.kind))
    }
}

impl Setting<Choice> {
    /// Converts the option for a family's list.
    pub const fn listed(self) -> Setting {
        assert!(!self.kind.0.is_empty());
        self.with_kind(Kind::Choice(self.kind))
    }
}

impl Setting<Range> {
    /// Converts the option for a family's list.
    pub const fn listed(self) -> Setting {
        self.with_kind(Kind::Range(self.kind))
    }
}

impl Setting {
    fn parse(&self, text: &str) -> Result<Value> {
        let wrong = |wanted: &str| Error::Usage(format!("{self} {text}: {wanted}"));
        match self.kind {
            Kind::Flag => match text {
                "" | "true" => Ok(Value::Flag),
                _ => Err(wrong("it takes no value")),
            },
            Kind::Number(Number { min, max, .. }) => match crate::input::size::parse(text) {
                Ok(number) if (min..=max).contains(&number) => Ok(Value::Number(number)),
                _ => Err(wrong(&format!("it must be a whole number from {min} to {max}"))),
            },
            Kind::Choice(Choice(choices)) => match choices.iter().find(|choice| **choice == text) {
                Some(choice) => Ok(Value::Choice(choice)),
                None => Err(wrong(&format!("there are: {}", choices.join(" ")))),
            },
            Kind::Range(_) => {
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
    /// Parses options given by name, each with its text; `""` for a flag.
    ///
    /// # Errors
    /// [`Error::Usage`] for an unknown option, and for a text that is not a valid value.
    pub fn new<'t>(settings: &[Setting], given: impl IntoIterator<Item = (&'t str, &'t str)>) -> Result<Self> {
        let mut values = BTreeMap::new();
        for (name, text) in given {
            let Some(setting) = settings.iter().find(|setting| setting.name == name) else {
                return Err(Error::Usage(format!("there is no {} here", option(name))));
            };
            values.insert(setting.name, setting.parse(text)?);
        }
        Ok(Self { given: values })
    }

    /// Whether this option was given, also with its default value.
    pub fn is_given<K>(&self, setting: &Setting<K>) -> bool {
        self.given.contains_key(setting.name)
    }

    /// Whether a flag was given.
    pub fn flag(&self, setting: &Setting<Flag>) -> bool {
        self.is_given(setting)
    }

    /// The number given, or the default.
    pub fn number(&self, setting: &Setting<Number>) -> u64 {
        match self.given.get(setting.name) {
            Some(Value::Number(number)) => *number,
            _ => setting.kind.default,
        }
    }

    /// The choice given, or the first one.
    pub fn choice(&self, setting: &Setting<Choice>) -> &'static str {
        match self.given.get(setting.name) {
            Some(Value::Choice(choice)) => choice,
            _ => setting.kind.0[0],
        }
    }

    /// The ends given, or the default ones.
    pub fn range(&self, setting: &Setting<Range>) -> (f64, f64) {
        match self.given.get(setting.name) {
            Some(Value::Range(low, high)) => (*low, *high),
            _ => setting.kind.default,
        }
    }

    /// The given options, defaults included, as on the command line; in the order of the names.
    pub fn text(&self) -> String {
        let given = self.given.iter().map(|(name, value)| match value {
            Value::Flag => option(name),
            Value::Number(number) => format!("{} {number}", option(name)),
            Value::Choice(choice) => format!("{} {choice}", option(name)),
            Value::Range(low, high) => format!("{} {low}:{high}", option(name)),
        });
        given.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXCLUSIVE: Setting<Flag> = Setting { name: "exclusive", help: "", generated: false, kind: Flag };
    const BINS: Setting<Number> =
        Setting { name: "bins", help: "", generated: false, kind: Number { default: 256, min: 1, max: 1 << 20 } };
    const BORDER: Setting<Choice> =
        Setting { name: "border", help: "", generated: false, kind: Choice(&["zero", "clamp", "mirror"]) };
    const RANGE: Setting<Range> =
        Setting { name: "range", help: "", generated: false, kind: Range { default: (0.0, 1.0) } };
    const ALL: &[Setting] = &[EXCLUSIVE.listed(), BINS.listed(), BORDER.listed(), RANGE.listed()];

    #[test]
    fn defaults_and_given_values() {
        let none = Settings::new(ALL, []).expect("the defaults");
        assert!(!none.flag(&EXCLUSIVE) && !none.is_given(&BINS));
        assert_eq!((none.number(&BINS), none.choice(&BORDER), none.range(&RANGE)), (256, "zero", (0.0, 1.0)));
        assert_eq!(none.text(), "");
        let given = [("exclusive", ""), ("bins", "2^10"), ("border", "mirror"), ("range", "-1.5:2")];
        let all = Settings::new(ALL, given).expect("all of them");
        assert!(all.flag(&EXCLUSIVE) && all.is_given(&RANGE));
        assert_eq!((all.number(&BINS), all.choice(&BORDER), all.range(&RANGE)), (1024, "mirror", (-1.5, 2.0)));
        assert_eq!(all.text(), "--bins 1024 --border mirror --exclusive --range -1.5:2");
        let default = Settings::new(ALL, [("bins", "256")]).expect("the default, given");
        assert!(default.is_given(&BINS) && default.text() == "--bins 256");
    }

    /// A job whose settings were made without a list, or with another family's, reads defaults, and never 0.
    #[test]
    fn an_option_outside_the_list_has_its_default() {
        for settings in [Settings::default(), Settings::new(&[], []).expect("no settings")] {
            assert!(!settings.flag(&EXCLUSIVE));
            assert_eq!((settings.number(&BINS), settings.choice(&BORDER)), (256, "zero"));
            assert_eq!(settings.range(&RANGE), (0.0, 1.0));
        }
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
