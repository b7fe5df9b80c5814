//! The variables of frames, from the debug information that nvcc writes with `-G`.
//!
//! Only nvcc's is read. Its front end gives every name of a structured binding as a part of one variable, so that each
//! of its variables is an object of its own; that of other compilers describes parts of objects, too, as variables.

use crate::hash::Map;
use crate::syntax::section::Section;
use crate::syntax::tree::{DebugStrings, Module};
use gimli::{
    Abbreviations, AttributeValue, DebugAbbrev, DebugInfo, DebugStr, DebuggingInformationEntry, DwAt, EndianSlice,
    Expression, LittleEndian, Operation, UnitHeader, UnitOffset,
};

/// A variable of the source in a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// Name in the source; empty without one.
    pub name: String,
    /// Offset in the frame in bytes.
    pub start: u64,
    /// Size in bytes.
    pub size: u64,
}

/// The variables by frame. Only frames of which all references in the debug information are understood are contained.
pub type Locals<'t> = Map<&'t str, Vec<Local>>;

/// What the producers of nvcc's debug information have in their names.
const PRODUCER: &str = "lgenfe: EDG";
/// Distance between the addresses that frames have here, so that an address shows its frame.
const STRIDE: u64 = 1 << 40;
/// Limit on the length of a chain of types.
const LONGEST: usize = 64;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;
type Entry<'a, 'b> = DebuggingInformationEntry<'b, 'b, Bytes<'a>>;

/// Reads the variables of the frames with these names; empty if the sections are missing or are not understood.
pub fn locals<'t>(module: &Module<'t>, frames: &[&'t str]) -> Locals<'t> {
    let mut locals = Locals::default();
    let Some(sections) = Sections::of(module, frames) else { return locals };
    let Some(found) = sections.variables() else { return locals };
    for (frame, local) in found {
        locals.entry(frames[frame]).or_default().push(local);
    }
    // Each reference belongs to a variable that was read, so none is overlooked.
    let mut references: Map<&str, usize> = Map::default();
    for reference in sections.info.references.iter().chain(&sections.places.references) {
        *references.entry(reference.symbol).or_default() += 1;
    }
    locals.retain(|name, variables| references.get(name) == Some(&variables.len()));
    locals
}

/// The sections, with the addresses of symbols in place.
struct Sections<'m, 't> {
    info: Section<'t>,
    abbreviations: Section<'t>,
    strings: &'m DebugStrings<'t>,
    places: Section<'t>,
    frames: usize,
}

impl<'m, 't> Sections<'m, 't> {
    /// Parses the sections; `None` if one is missing or occurs twice, as in a text that was joined of several.
    fn of(module: &'m Module<'t>, frames: &[&'t str]) -> Option<Self> {
        let section = |name: &str, needed: bool| {
            let mut texts = module.sections.iter().filter(|(of, _)| *of == name).map(|(_, text)| *text);
            match (texts.next(), texts.next()) {
                (Some(text), None) => Section::parse(text),
                (None, _) if !needed => Some(Section::default()),
                _ => None,
            }
        };
        let mut sections = Self {
            info: section(".debug_info", true)?,
            abbreviations: section(".debug_abbrev", true)?,
            strings: &module.strings,
            places: section(".debug_loc", false)?,
            frames: frames.len(),
        };
        let mut addresses: Map<&str, u64> = Map::default();
        for section in [&sections.info, &sections.abbreviations, &sections.places] {
            addresses.extend(&section.labels);
        }
        addresses.extend(module.strings.labels.iter().map(|(label, offset)| (*label, *offset as u64)));
        addresses.extend(frames.iter().zip(1..).map(|(name, number)| (*name, number * STRIDE)));
        // Other sections are not read, and other addresses are below those of frames.
        sections.info.resolve(|symbol| addresses.get(symbol).copied().unwrap_or(0));
        Some(sections)
    }

    /// Reads the variables in frames, with the number of their frame.
    fn variables(&self) -> Option<Vec<(usize, Local)>> {
        let info = DebugInfo::new(&self.info.bytes, LittleEndian);
        let abbreviations = DebugAbbrev::new(&self.abbreviations.bytes, LittleEndian);
        let strings = DebugStr::new(&self.strings.bytes, LittleEndian);
        let (mut found, mut headers) = (Vec::new(), info.units());
        while let Some(header) = headers.next().ok()? {
            let abbreviations = header.abbreviations(&abbreviations).ok()?;
            let unit = Unit { header, abbreviations, strings };
            let mut entries = unit.header.entries(&unit.abbreviations);
            let mut producer = None;
            while let Some((_, entry)) = entries.next_dfs().ok()? {
                if producer.is_none() {
                    producer = Some(unit.text(entry, gimli::DW_AT_producer)?);
                }
                if let gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter = entry.tag()
                    && let Some(place) = entry.attr_value(gimli::DW_AT_location).ok()?
                    && let AttributeValue::Exprloc(place) = place
                    && let Some((frame, start)) = self.place(place, &unit)
                    && let Some(size) = unit.size_of(entry, LONGEST)
                {
                    let name = unit.text(entry, gimli::DW_AT_name).unwrap_or_default();
                    found.push((frame, Local { name, start, size }));
                }
            }
            producer.filter(|producer| producer.contains(PRODUCER))?;
        }
        Some(found)
    }

    /// Returns the frame and the offset there of a variable whose place is the frame's address and an offset.
    fn place(&self, place: Expression<Bytes<'_>>, unit: &Unit<'_>) -> Option<(usize, u64)> {
        let mut operations = place.operations(unit.header.encoding());
        let Operation::Address { address } = operations.next().ok()?? else { return None };
        let offset = match operations.next().ok()? {
            Some(Operation::PlusConstant { value }) => value,
            None => 0,
            Some(_) => return None,
        };
        if operations.next().ok()?.is_some() {
            return None;
        }
        let frame = usize::try_from((address / STRIDE).checked_sub(1)?).ok().filter(|frame| *frame < self.frames)?;
        Some((frame, (address % STRIDE).checked_add(offset)?))
    }
}

/// A compilation unit.
struct Unit<'a> {
    header: UnitHeader<Bytes<'a>>,
    abbreviations: Abbreviations,
    strings: DebugStr<Bytes<'a>>,
}

impl<'a> Unit<'a> {
    /// Returns an attribute of an entry, or else of the entry that it is an instance of, as an inlined variable is.
    fn attribute(&self, entry: &Entry<'a, '_>, name: DwAt) -> Option<AttributeValue<Bytes<'a>>> {
        if let Some(value) = entry.attr_value(name).ok()? {
            return Some(value);
        }
        let origin = entry.attr_value(gimli::DW_AT_abstract_origin).ok()??;
        let origin = self.header.entry(&self.abbreviations, self.offset(&origin)?).ok()?;
        origin.attr_value(name).ok()?
    }

    /// Returns an attribute that is text.
    fn text(&self, entry: &Entry<'a, '_>, name: DwAt) -> Option<String> {
        let text = match self.attribute(entry, name)? {
            AttributeValue::String(text) => text,
            AttributeValue::DebugStrRef(offset) => self.strings.get_str(offset).ok()?,
            _ => return None,
        };
        Some(text.to_string_lossy().into_owned())
    }

    fn offset(&self, reference: &AttributeValue<Bytes<'a>>) -> Option<UnitOffset> {
        match *reference {
            AttributeValue::UnitRef(offset) => Some(offset),
            AttributeValue::DebugInfoRef(offset) => offset.to_unit_offset(&self.header),
            _ => None,
        }
    }

    /// Returns the size of an entry's type in bytes; `most` limits the length of the chain of types.
    fn size_of(&self, entry: &Entry<'a, '_>, most: usize) -> Option<u64> {
        let offset = self.offset(&self.attribute(entry, gimli::DW_AT_type)?)?;
        let kind = self.header.entry(&self.abbreviations, offset).ok()?;
        if let Some(size) = kind.attr_value(gimli::DW_AT_byte_size).ok()? {
            return size.udata_value();
        }
        let inner = || self.size_of(&kind, most.checked_sub(1)?);
        match kind.tag() {
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => Some(8),
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type => inner(),
            gimli::DW_TAG_array_type => inner()?.checked_mul(self.elements(offset)?),
            _ => None,
        }
    }

    /// Returns the number of elements of an array in all its dimensions.
    fn elements(&self, array: UnitOffset) -> Option<u64> {
        let mut tree = self.header.entries_tree(&self.abbreviations, Some(array)).ok()?;
        let mut dimensions = tree.root().ok()?.children();
        let mut elements = None;
        while let Some(dimension) = dimensions.next().ok()? {
            let entry = dimension.entry();
            if entry.tag() != gimli::DW_TAG_subrange_type {
                return None;
            }
            let number = |name| entry.attr_value(name).ok().flatten().map(|value| value.udata_value());
            let count = match (number(gimli::DW_AT_count), number(gimli::DW_AT_upper_bound)) {
                (Some(count), _) => count?,
                (None, last) => last??.checked_add(1)?,
            };
            elements = Some(elements.unwrap_or(1_u64).checked_mul(count)?);
        }
        elements
    }
}
