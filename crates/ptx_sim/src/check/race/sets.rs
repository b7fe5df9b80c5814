//! Storage for sets of records: the members of all sets of a page, one set behind the other.

/// Most members of a set in a program some of whose synchronisation leaves threads out: one for every warp of a block.
/// Of more accesses, the first ones are kept, from different blocks where possible.
pub(super) const MOST: usize = 32;
/// Most members in any other program. Barriers of whole blocks order all accesses of a block or none, so that a thread
/// that is unordered after some of many accesses is unordered after one of a few, too.
pub(super) const FEW: usize = 4;

/// The sets of one page. Set 0 is empty.
#[derive(Debug)]
pub(super) struct Sets {
    rows: Vec<Row>,
    members: Vec<u16>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    start: u32,
    len: u32,
    /// If the set is full of ordinary loads by different blocks: one more than the last of these blocks; otherwise 0.
    readers: u32,
}

/// The relevant accesses to one cell since its last ordinary write.
#[derive(Clone, Copy, Debug)]
pub(super) enum Set<'a> {
    One([u16; 1]),
    Many(&'a [u16]),
}

impl Set<'_> {
    /// Returns the records, the latest last.
    #[inline(always)]
    pub fn members(&self) -> &[u16] {
        match self {
            Self::One(one) => one,
            Self::Many(many) => many,
        }
    }
}

impl Default for Sets {
    fn default() -> Self {
        Self { rows: vec![Row::default()], members: Vec::new() }
    }
}

impl Sets {
    /// Number of sets, the empty one included.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the members of a set, the latest last.
    #[inline]
    pub fn get(&self, set: u16) -> &[u16] {
        let Row { start, len, .. } = self.rows[usize::from(set)];
        &self.members[start as usize..(start + len) as usize]
    }

    /// See [`Row::readers`]; 0 if there is no such set.
    #[inline(always)]
    pub fn readers(&self, set: u16) -> u32 {
        self.rows.get(usize::from(set)).map_or(0, |row| row.readers)
    }

    /// Adds a set, and returns its number.
    pub fn add(&mut self, members: impl ExactSizeIterator<Item = u16>, readers: u32) -> u16 {
        let (start, len) = (self.members.len() as u32, members.len() as u32);
        reserve(&mut self.members, members.len());
        self.members.extend(members);
        push(&mut self.rows, Row { start, len, readers });
        (self.rows.len() - 1) as u16
    }

    /// Removes all sets and keeps their memory for reuse.
    pub fn clear(&mut self) {
        self.rows.truncate(1);
        self.members.clear();
    }
}

/// A set while members are added.
#[derive(Debug)]
pub(super) struct Growing {
    members: [u16; MOST],
    len: usize,
    most: usize,
}

impl Growing {
    /// Creates a set that is to have at most `most` members.
    pub fn new(most: usize) -> Self {
        Self { members: [0; MOST], len: 0, most: most.clamp(1, MOST) }
    }

    /// Returns the records, the latest last.
    pub fn members(&self) -> &[u16] {
        &self.members[..self.len]
    }

    /// Whether no more records have room.
    pub fn is_full(&self) -> bool {
        self.len >= self.most
    }

    /// Adds a record; it replaces the last one of a full set.
    pub fn push(&mut self, record: u16) {
        let at = self.len.min(self.most - 1);
        self.members[at] = record;
        self.len = at + 1;
    }

    /// Adds a member of a set that may have had more room.
    pub fn keep(&mut self, record: u16) {
        if let Some(place) = self.members.get_mut(self.len) {
            *place = record;
            self.len += 1;
        }
    }

    /// Removes the member at a position.
    pub fn remove(&mut self, at: usize) {
        self.members.copy_within(at + 1..self.len, at);
        self.len -= 1;
    }
}

/// Appends to a table. Tables are numerous, so they grow by less than a factor of two.
pub(super) fn push<T>(table: &mut Vec<T>, entry: T) {
    reserve(table, 1);
    table.push(entry);
}

fn reserve<T>(table: &mut Vec<T>, more: usize) {
    if table.len() + more > table.capacity() {
        table.reserve_exact(table.len() / 2 + 3 + more);
    }
}
