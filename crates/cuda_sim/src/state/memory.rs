//! Device memory, and memory of the host that kernels access at the host's address.

use super::State;
use crate::code::{Answer, Code};
use crate::host_memory::{self, Mapped, PAGE};
use crate::model::{Block, Device, Handle, Held};
use std::collections::BTreeSet;
use std::ptr::NonNull;

impl State {
    /// Allocates device memory.
    ///
    /// # Errors
    /// `INVALID_VALUE` for 0 bytes, `OUT_OF_MEMORY` if the device or the host has no room.
    pub fn allocate(&mut self, device: usize, context: Handle, bytes: u64, held: Held) -> Answer<u64> {
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let name = self.name(device, held)?;
        let on = self.devices.get_mut(device).ok_or(Code::INVALID_DEVICE)?;
        if bytes > on.memory.saturating_sub(on.used) {
            return Err(Code::OUT_OF_MEMORY);
        }
        let address = on.machine.alloc(bytes, &name).map_err(|_| Code::OUT_OF_MEMORY)?;
        on.used += bytes;
        self.insert(address, Block { bytes, device, context, held, id: 0 });
        let peers: Vec<usize> =
            self.contexts.values().filter(|other| other.peers.contains(&device)).map(|other| other.device).collect();
        let of_pool = match held {
            Held::Pool(pool) => self.pools.get(&pool).map(|pool| pool.access.clone()).unwrap_or_default(),
            _ => BTreeSet::new(),
        };
        for peer in peers.into_iter().chain(of_pool) {
            self.share(address, device, peer);
        }
        Ok(address)
    }

    /// Allocates memory of the host.
    ///
    /// # Errors
    /// As [`State::allocate`].
    pub fn allocate_host(&mut self, device: usize, context: Handle, bytes: u64, held: Held) -> Answer<u64> {
        let name = self.name(device, held)?;
        self.allocate_named(Block { bytes, device, context, held, id: 0 }, &name)
    }

    /// Allocates memory for a managed variable of a module.
    ///
    /// # Errors
    /// As [`State::allocate`].
    pub fn allocate_variable(&mut self, device: usize, bytes: u64, name: &str) -> Answer<u64> {
        self.allocate_named(Block { bytes: bytes.max(1), device, context: 0, held: Held::Variable, id: 0 }, name)
    }

    fn allocate_named(&mut self, block: Block, name: &str) -> Answer<u64> {
        let Block { bytes, device, .. } = block;
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let size = bytes.checked_next_multiple_of(PAGE).ok_or(Code::OUT_OF_MEMORY)?;
        let on = self.devices.get_mut(device).ok_or(Code::INVALID_DEVICE)?;
        if bytes > on.memory {
            return Err(Code::OUT_OF_MEMORY);
        }
        let address = on.machine.reserve(size, PAGE).map_err(|_| Code::OUT_OF_MEMORY)?;
        let memory = host_memory::map(address, size)?;
        if let Err(code) = self.map(memory, block, name) {
            // SAFETY: the pages were mapped above, and no machine has them.
            unsafe { host_memory::unmap(address, size) };
            return Err(code);
        }
        Ok(address)
    }

    /// Lets kernels access memory of the program.
    ///
    /// # Errors
    /// `INVALID_VALUE` for memory that is not readable and writable, `HOST_MEMORY_ALREADY_REGISTERED` if some of it is
    /// registered.
    pub fn register(&mut self, device: usize, context: Handle, memory: u64, bytes: u64, flags: u32) -> Answer {
        let end = memory.checked_add(bytes).ok_or(Code::INVALID_VALUE)?;
        let start = NonNull::new(memory as usize as *mut u8).filter(|_| bytes > 0).ok_or(Code::INVALID_VALUE)?;
        if Mapped::read().is_some_and(|mapped| !mapped.contains(memory..end)) {
            return Err(Code::INVALID_VALUE);
        }
        let held = Held::Registered(flags);
        let name = self.name(device, held)?;
        self.map(start, Block { bytes, device, context, held, id: 0 }, &name)
    }

    /// Ends the registration of memory that the program has unmapped, before a kernel's access to it crashes the
    /// program.
    pub fn drop_unmapped(&mut self) {
        let is_registered = |(_, block): &(&u64, &Block)| matches!(block.held, Held::Registered(_));
        let registered = self.blocks.iter().filter(is_registered).map(|(address, block)| (*address, *block));
        let registered: Vec<(u64, Block)> = registered.collect();
        if registered.is_empty() {
            return;
        }
        let Some(mapped) = Mapped::read() else { return };
        for (address, block) in registered {
            if !mapped.contains(address..address.saturating_add(block.bytes)) {
                let name = self.block_name(address, &block);
                self.report.unmapped(&name, block.bytes);
                // It exists, so that it can be freed.
                let _ = self.free_block(address);
            }
        }
    }

    fn map(&mut self, memory: NonNull<u8>, block: Block, name: &str) -> Answer {
        let address = memory.as_ptr() as u64;
        for at in 0..self.devices.len() {
            // SAFETY: `allocate_host` mapped whole pages, `register` found the pages readable, and the program promises
            // to keep them until it has freed them.
            if unsafe { self.devices[at].machine.map(memory, block.bytes, name) }.is_err() {
                self.devices[..at].iter_mut().for_each(|device| unmap(device, address));
                return Err(Code::HOST_MEMORY_ALREADY_REGISTERED);
            }
        }
        self.insert(address, block);
        Ok(())
    }

    /// Frees an allocation.
    ///
    /// # Errors
    /// `INVALID_VALUE` if it does not exist.
    pub fn free_block(&mut self, address: u64) -> Answer<Block> {
        self.unwatch_block(address);
        let block = self.blocks.remove(&address).ok_or(Code::INVALID_VALUE)?;
        self.disowned(address..address + block.bytes);
        for device in &mut self.devices {
            // Some devices do not have it.
            unmap(device, address);
        }
        match block.held {
            Held::Pinned(_) | Held::Managed | Held::Variable => {
                // SAFETY: `allocate_host` mapped these pages, and no machine has them any more.
                unsafe { host_memory::unmap(address, block.bytes.next_multiple_of(PAGE)) };
            }
            Held::Registered(_) => {}
            Held::Device | Held::Pool(_) | Held::Array => {
                if let Held::Pool(pool) = block.held {
                    self.pools.entry(pool).and_modify(|pool| pool.used -= block.bytes);
                }
                if let Some(device) = self.devices.get_mut(block.device) {
                    device.used = device.used.saturating_sub(block.bytes);
                }
            }
        }
        Ok(block)
    }

    /// Returns the allocation that contains an address, with its start.
    pub fn block_at(&self, address: u64) -> Option<(u64, Block)> {
        let (start, block) = self.blocks.range(..=address).next_back()?;
        (address - start < block.bytes).then_some((*start, *block))
    }

    /// Lets kernels of `peer` access all memory of `device`.
    pub fn share_all(&mut self, device: usize, peer: usize) {
        let is_there = |block: &Block| block.device == device && !block.held.is_on_host();
        let blocks: Vec<u64> =
            self.blocks.iter().filter(|(_, block)| is_there(block)).map(|(address, _)| *address).collect();
        blocks.into_iter().for_each(|address| self.share(address, device, peer));
    }

    /// Ends what [`State::share_all`] began, unless another context of `peer` has it.
    pub fn unshare_all(&mut self, device: usize, peer: usize) {
        if self.contexts.values().any(|context| context.device == peer && context.peers.contains(&device)) {
            return;
        }
        // A pool's own list still allows it.
        let pools = &self.pools;
        let is_shared = |held| {
            matches!(held, Held::Pool(pool)
            if pools.get(&pool).is_some_and(|pool| pool.access.contains(&peer)))
        };
        let is_there = |block: &Block| block.device == device && !block.held.is_on_host() && !is_shared(block.held);
        for (address, _) in self.blocks.iter().filter(|(_, block)| is_there(block)) {
            unmap(&mut self.devices[peer], *address);
        }
    }

    /// Lets kernels of a device access all memory of a pool.
    pub fn share_pool(&mut self, pool: Handle, peer: usize) {
        let Some(known) = self.pools.get_mut(&pool).filter(|known| known.device != peer) else { return };
        known.access.insert(peer);
        let device = known.device;
        self.pool_blocks(pool).into_iter().for_each(|address| self.share(address, device, peer));
    }

    /// Ends what [`State::share_pool`] began, unless a context of `peer` has access to the pool's device.
    pub fn unshare_pool(&mut self, pool: Handle, peer: usize) {
        let Some(known) = self.pools.get_mut(&pool) else { return };
        known.access.remove(&peer);
        let device = known.device;
        if !self.contexts.values().any(|context| context.device == peer && context.peers.contains(&device)) {
            self.pool_blocks(pool).into_iter().for_each(|address| unmap(&mut self.devices[peer], address));
        }
    }

    fn pool_blocks(&self, pool: Handle) -> Vec<u64> {
        self.blocks.iter().filter(|(_, block)| block.held == Held::Pool(pool)).map(|(address, _)| *address).collect()
    }

    fn share(&mut self, address: u64, device: usize, peer: usize) {
        if let Ok([from, to]) = self.devices.get_disjoint_mut([device, peer]) {
            // An error says that it is shared already.
            let _ = to.machine.share(&from.machine, address);
        }
    }

    /// Returns the name of an allocation in reports.
    pub fn block_name(&self, address: u64, block: &Block) -> String {
        let described =
            self.devices.get(block.device).map(|device| device.machine.describe(address)).unwrap_or_default();
        described.split('`').nth(1).unwrap_or(block.held.function()).to_owned()
    }

    fn insert(&mut self, address: u64, block: Block) {
        let id = self.handle() as u64;
        self.blocks.insert(address, Block { id, ..block });
    }

    fn name(&mut self, device: usize, held: Held) -> Answer<String> {
        let on = self.devices.get_mut(device).ok_or(Code::INVALID_DEVICE)?;
        on.allocations += 1;
        Ok(format!("{} {}", held.function(), on.allocations))
    }
}

fn unmap(device: &mut Device, address: u64) {
    // A registered address that is not a multiple of 8 lies in an allocation that starts before it.
    if let Some((start, _)) = device.machine.allocation(address) {
        // It exists, and the host may free it.
        let _ = device.machine.free(start);
    }
}
