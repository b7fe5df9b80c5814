//! What to do instead, in usage errors of clap.

use super::{family, names};
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command, Error};
use ladders::kernels::FAMILIES;
use std::ffi::OsString;

/// Parses the arguments. For help and usage errors the process ends with 0 or 2.
pub(super) fn matches(command: Command, args: impl IntoIterator<Item = OsString>) -> ArgMatches {
    command.try_get_matches_from(args).unwrap_or_else(|error| advised(error).exit())
}

/// Adds advice to an error, or removes what is none.
fn advised(mut error: Error) -> Error {
    match error.kind() {
        ErrorKind::InvalidSubcommand => drop_far_names(&mut error),
        ErrorKind::ArgumentConflict => {
            if let Some(advice) = as_input(&error) {
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(advice)]));
            }
        }
        _ => {}
    }
    error
}

/// Keeps the suggested commands that resemble what was typed.
fn drop_far_names(error: &mut Error) {
    let Some(ContextValue::String(asked)) = error.get(ContextKind::InvalidSubcommand) else { return };
    let asked = asked.clone();
    let suggested = match error.remove(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::String(one)) => vec![one],
        Some(ContextValue::Strings(all)) => all,
        _ => return,
    };
    let near: Vec<String> = suggested.into_iter().filter(|name| names::resemble(&asked, name)).collect();
    if !near.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(near));
    }
}

/// The advice for an option that describes a generated operand, where operands are read from files.
fn as_input(error: &Error) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
    let name = option.strip_prefix("--")?.split(' ').next()?;
    let is_of = |operand: &str| operand == name || family::is_axis_of(name, operand);
    let operands = FAMILIES.iter().filter(|family| family.settings.iter().any(|s| s.generated && s.name == name));
    let place = operands.flat_map(|family| family.operands.iter().enumerate()).find(|(_, o)| is_of(o.name));
    let (place, operand) = place?;
    let ordinal = ["first", "second", "third"].get(place)?;
    Some(format!("leave --{name} out, and give the {} as a {ordinal} --input", operand.name))
}
