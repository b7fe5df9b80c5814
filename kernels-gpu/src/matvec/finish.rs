//! Sums of which several blocks have a part each: the last of them to finish adds the parts.

use crate::reduce::collective::is_last_of;

/// The blocks that share sums.
#[derive(Clone, Copy, Debug)]
pub struct Sharing {
    /// Number of these blocks.
    pub pieces: u32,
    /// This block's number among them.
    pub piece: u32,
    /// The number of their sums among all that are shared.
    pub group: u32,
}

impl Sharing {
    /// The work of block `block`, where neighbours share sums.
    #[inline(always)]
    pub fn of(block: u32, pieces: u32) -> Self {
        // It is not 0; without `max` the compiler would keep a panic for a division by 0.
        let pieces = pieces.max(1);
        Self { pieces, piece: block % pieces, group: block / pieces }
    }

    /// Whether the block is the last to have stored its part, so that it sees those of all others.
    ///
    /// # Safety
    /// All threads of the block call it once, after they have stored; `tickets` has an entry for each group, which were
    /// 0 before the launch, which alone uses them.
    #[inline(always)]
    pub unsafe fn is_last(self, tickets: *mut u32) -> bool {
        // SAFETY: the caller upholds the contract.
        unsafe { is_last_of(tickets.add(self.group as usize), self.pieces) }
    }
}
