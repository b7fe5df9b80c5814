//! Execution of operations on the simulated devices.

use super::State;
use crate::code::{Answer, Code};
use crate::host_memory;
use crate::model::{Copy, Handle, Kernel, Kind, Launch, Operation, Set, Side};
use ptx_sim::{Stop, StopKind};
use std::time::Instant;

/// Bytes that are copied at a time.
const CHUNK: u64 = 1 << 20;

impl State {
    /// Runs an operation of a stream to its end.
    ///
    /// # Errors
    /// The driver's code for what failed.
    pub fn execute(&mut self, stream: Handle, operation: Operation) -> Answer {
        match operation {
            Operation::Launch(launch) => self.launch(stream, &launch),
            Operation::Copy(copy) => {
                self.copy(&copy)?;
                self.copied(stream, &copy);
                Ok(())
            }
            Operation::Write(bytes, copy) => {
                let rows = copy.rows().zip(bytes.chunks(copy.width.max(1) as usize));
                let to = copy.to.kind;
                rows.into_iter().try_for_each(|((_, at), row)| self.write(at, to, row))?;
                self.copied(stream, &copy);
                Ok(())
            }
            Operation::Set(set) => {
                self.set(&set)?;
                self.filled(stream, &set);
                Ok(())
            }
            Operation::Record { event } => {
                if let Some(event) = self.events.get_mut(&event) {
                    event.time = Some(Instant::now());
                }
                Ok(())
            }
            Operation::Allocated { address } | Operation::Ended { address } => {
                self.owned(stream, address);
                Ok(())
            }
            Operation::Free { address } => {
                self.owned(stream, address);
                self.free_block(address).map(|_| ())
            }
            Operation::Release(memory, objects) => {
                drop(objects);
                self.release(memory);
                Ok(())
            }
            Operation::Steps(steps) | Operation::Child(steps, _) => {
                steps.into_iter().try_for_each(|step| self.execute(stream, step))
            }
            Operation::Node(position, operation) => {
                if let Some(this) = self.streams.get_mut(&stream) {
                    this.node = Some(position);
                }
                self.execute(stream, *operation)
            }
            // The queue runs functions of the host, and has waited for events.
            Operation::Host { .. } | Operation::Callback { .. } | Operation::Wait { .. } | Operation::Empty => Ok(()),
        }
    }

    /// Prepares an operation that runs later: bytes that it reads from memory of the program are read now, since the
    /// program may reuse that memory when the call has returned, unless it is page-locked.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` if the host has no room for them, and as [`host_memory::read`].
    pub fn detach(&mut self, operation: Operation) -> Answer<Operation> {
        let Operation::Copy(copy) = operation else { return Ok(operation) };
        if self.is_device(copy.from) || self.block_at(copy.from.address).is_some() {
            return Ok(Operation::Copy(copy));
        }
        let mut bytes = Vec::new();
        for (from, _) in copy.rows() {
            bytes.try_reserve(copy.width as usize).map_err(|_| Code::OUT_OF_MEMORY)?;
            let start = bytes.len();
            bytes.resize(start + copy.width as usize, 0);
            host_memory::read(from, &mut bytes[start..])?;
        }
        Ok(Operation::Write(bytes, copy))
    }

    fn launch(&mut self, stream: Handle, launch: &Launch) -> Answer {
        self.drop_unmapped();
        let function = self.functions.get(&launch.function).ok_or(Code::INVALID_HANDLE)?;
        let module = self.modules.get(&function.module).ok_or(Code::INVALID_HANDLE)?;
        // The queue has checked the stream's context, on whose device a library's kernel runs.
        let of_stream = self.streams.get(&stream).map_or(0, |stream| stream.context);
        let context = if module.context == 0 { of_stream } else { module.context };
        let device = self.contexts.get(&context).map_or(0, |context| context.device);
        let wanted = ptx_sim::Launch {
            entry: &function.name,
            instance: module.instance,
            grid: launch.grid,
            block: launch.block,
            dynamic_shared: u64::from(launch.shared),
            params: &launch.params,
            cluster: launch.cluster,
            registers: None,
            cooperative: launch.cooperative,
        };
        let result = self.devices[device].machine.launch(&module.program, &wanted);
        match result {
            Ok(report) => {
                self.report.launched();
                self.report.printed(&report.printed);
                self.report.findings(&function.name, &report.findings);
                if let Some(accesses) = report.accesses {
                    let (name, program, sites) =
                        (function.name.clone(), module.program.clone(), accesses.sites.clone());
                    self.launched(stream, &Kernel { name, program, sites }, &accesses);
                }
                Ok(())
            }
            Err(stop) => {
                self.report.printed(stop.printed());
                self.report.findings(&function.name, stop.findings());
                let code = code_of(&stop);
                if stop.kind() == StopKind::Usage {
                    self.report.refusal("launching a kernel", &stop);
                    return Err(code);
                }
                self.report.stop(&function.name, &stop);
                if stop.kind() == StopKind::Unsupported {
                    return Err(code);
                }
                // As on a GPU, the launch itself succeeds, and later calls return the kernel's error.
                if let Some(context) = self.contexts.get_mut(&context) {
                    context.fault.get_or_insert(code);
                }
                Ok(())
            }
        }
    }

    fn copy(&mut self, copy: &Copy) -> Answer {
        let (from, to) = (copy.from, copy.to);
        let mut buffer = vec![0; copy.width.min(CHUNK) as usize];
        for (source, destination) in copy.rows() {
            let mut done = 0;
            while done < copy.width {
                let step = (copy.width - done).min(CHUNK);
                let buffer = &mut buffer[..step as usize];
                self.read(source.wrapping_add(done), from.kind, buffer)?;
                self.write(destination.wrapping_add(done), to.kind, buffer)?;
                done += step;
            }
        }
        Ok(())
    }

    fn set(&mut self, set: &Set) -> Answer {
        let element = set.value.to_le_bytes();
        let row: Vec<u8> = element[..set.bytes as usize]
            .iter()
            .copied()
            .cycle()
            .take((set.width * set.bytes).min(CHUNK) as usize)
            .collect();
        for y in 0..set.height {
            let (start, bytes) = (set.address.wrapping_add(y.wrapping_mul(set.pitch)), set.width * set.bytes);
            let mut done = 0;
            while done < bytes {
                let step = (bytes - done).min(CHUNK);
                self.write(start.wrapping_add(done), Kind::Device, &row[..step as usize])?;
                done += step;
            }
        }
        Ok(())
    }

    /// Whether a side is in memory of a device.
    pub fn is_device(&self, side: Side) -> bool {
        side.kind == Kind::Device || side.kind == Kind::Unified && self.device_of(side.address).is_some()
    }

    /// The number of the device whose memory, or whose module's variable, is at an address.
    pub fn device_of(&self, address: u64) -> Option<usize> {
        match self.block_at(address) {
            Some((_, block)) if block.held.is_managed() => Some(block.device),
            Some((_, block)) if block.held.is_on_host() => None,
            Some((_, block)) => Some(block.device),
            None => self.devices.iter().position(|device| device.machine.allocation(address).is_some()),
        }
    }

    /// The number of the device on which a copy accesses an address, or `None` for the host.
    fn side(&mut self, address: u64, kind: Kind) -> Answer<Option<usize>> {
        if kind == Kind::Host || self.block_at(address).is_some_and(|(_, block)| block.held.is_on_host()) {
            return Ok(None);
        }
        match self.device_of(address) {
            None if kind == Kind::Device => Err(self.no_memory(address)),
            device => Ok(device),
        }
    }

    fn read(&mut self, address: u64, kind: Kind, into: &mut [u8]) -> Answer {
        let Some(device) = self.side(address, kind)? else { return host_memory::read(address, into) };
        let read = self.devices[device].machine.read(address, into);
        read.map_err(|stop| self.report.refusal("copying", &stop))
    }

    fn write(&mut self, address: u64, kind: Kind, from: &[u8]) -> Answer {
        let Some(device) = self.side(address, kind)? else { return host_memory::write(address, from) };
        let written = self.devices[device].machine.write(address, from);
        written.map_err(|stop| self.report.refusal("copying", &stop))
    }

    fn no_memory(&mut self, address: u64) -> Code {
        let near = self.devices.first().map_or_else(String::new, |device| device.machine.describe(address));
        self.report.note(&format!("{address:#x} is not memory of a device: {near}"));
        Code::INVALID_VALUE
    }
}

/// Returns the driver's code for a launch that ended early.
fn code_of(stop: &Stop) -> Code {
    match (stop.kind(), stop.code()) {
        (StopKind::Unsupported, _) => Code::NOT_SUPPORTED,
        (StopKind::Stuck, _) => Code::LAUNCH_TIMEOUT,
        (_, "out-of-memory") => Code::OUT_OF_MEMORY,
        (_, "cooperative-size") => Code::COOPERATIVE_LAUNCH_TOO_LARGE,
        (_, "resources") => Code::LAUNCH_OUT_OF_RESOURCES,
        (_, "unknown-function") => Code::INVALID_PTX,
        (StopKind::Usage, _) => Code::INVALID_VALUE,
        (_, "assert") => Code::ASSERT,
        (_, "misaligned") => Code::MISALIGNED_ADDRESS,
        (_, "trap") => Code::LAUNCH_FAILED,
        (_, "null-pointer" | "out-of-bounds" | "read-only" | "use-after-free" | "wrong-space") => Code::ILLEGAL_ADDRESS,
        _ => Code::LAUNCH_FAILED,
    }
}
