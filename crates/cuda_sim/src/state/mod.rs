//! All state of the driver, behind one lock: a call sees it as the calls before it left it.

mod captures;
mod contexts;
mod execute;
mod graphs;
mod memory;
mod modules;
mod order;
mod queue;
mod races;
mod watched;

use crate::code::{Answer, Code};
use crate::image::Programs;
use crate::model::{
    Array, Block, Context, Described, Device, Event, Executable, Function, Graph, Handle, Held, Linker, Module, Node,
    Pool, Stream, UserObject,
};
use crate::report::{self, Report};
use crate::settings::Settings;
use races::Races;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

/// The state of the driver.
pub struct State {
    pub settings: Settings,
    pub devices: Vec<Device>,
    pub contexts: HashMap<Handle, Context>,
    pub streams: HashMap<Handle, Stream>,
    pub events: HashMap<Handle, Event>,
    pub modules: HashMap<Handle, Module>,
    pub functions: HashMap<Handle, Function>,
    pub linkers: HashMap<Handle, Linker>,
    pub graphs: HashMap<Handle, Graph>,
    pub nodes: HashMap<Handle, Node>,
    pub executables: HashMap<Handle, Executable>,
    /// The program's objects and the number of references that it owns.
    pub user_objects: BTreeMap<Handle, (Arc<UserObject>, u32)>,
    pub pools: HashMap<Handle, Pool>,
    pub arrays: HashMap<Handle, Array>,
    /// Descriptions of texture and surface objects, by device and object.
    pub textures: HashMap<(usize, u64), Described>,
    /// Allocations of the program, by address.
    pub blocks: BTreeMap<u64, Block>,
    pub report: Report,
    pub programs: Programs,
    pub races: Races,
    next: Handle,
}

static STATE: OnceLock<Mutex<State>> = OnceLock::new();
static CHANGED: Condvar = Condvar::new();

/// Whether this process is a copy of one that had initialised the driver. As on a GPU, it cannot use it; what it would
/// find here is its parent's, which another thread may have locked.
static FORKED: AtomicBool = AtomicBool::new(false);

extern "C" fn forked() {
    FORKED.store(true, Ordering::Release);
}

/// Creates the state, unless it exists.
///
/// # Errors
/// `NOT_INITIALIZED` in a process that was forked after `cuInit`.
pub fn initialise() -> Answer {
    if FORKED.load(Ordering::Acquire) {
        return Err(Code::NOT_INITIALIZED);
    }
    STATE.get_or_init(|| {
        // SAFETY: the functions take nothing and do not unwind. Exit handlers that the program registered later, such
        // as its own frees, run before.
        unsafe {
            libc::pthread_atfork(None, None, Some(forked));
            libc::atexit(at_exit);
        }
        let state = State::new(Settings::read());
        state.report.started();
        Mutex::new(state)
    });
    Ok(())
}

/// Reports the last accesses of the host, what kernels have printed that the program did not wait for (a GPU would not
/// show it), and what the program has not freed.
extern "C" fn at_exit() {
    let Ok(mut state) = state() else { return };
    state.report.show_printed();
    if state.settings.leaks {
        // Variables live as long as their module.
        let leaks = state.blocks.iter().filter(|(_, block)| block.held != Held::Variable);
        let blocks: Vec<(u64, Block)> = leaks.map(|(address, block)| (*address, *block)).collect();
        for (address, block) in blocks {
            let name = state.block_name(address, &block);
            state.report.leak(&name, block.bytes);
        }
    }
    drop(state);
    report::show_due();
}

/// Locks the state.
///
/// # Errors
/// `NOT_INITIALIZED` before `cuInit`, and in a process that was forked after it.
pub fn state() -> Answer<MutexGuard<'static, State>> {
    if FORKED.load(Ordering::Acquire) {
        return Err(Code::NOT_INITIALIZED);
    }
    let mut state = STATE.get().ok_or(Code::NOT_INITIALIZED)?.lock().unwrap_or_else(PoisonError::into_inner);
    state.report_host();
    Ok(state)
}

/// Waits until `done` holds. Other threads use the state in between.
pub fn wait_until(mut guard: MutexGuard<'static, State>, done: impl Fn(&State) -> bool) -> MutexGuard<'static, State> {
    while !done(&guard) {
        guard = CHANGED.wait(guard).unwrap_or_else(PoisonError::into_inner);
    }
    guard
}

/// Waits until the work of a stream so far has ended.
pub fn wait_for(guard: MutexGuard<'static, State>, stream: Handle) -> MutexGuard<'static, State> {
    let (last, clock) = (guard.last(stream), guard.clock_of(stream));
    let mut state = wait_until(guard, |state| state.has_ended(last));
    state.host_follows(&clock);
    state.report.show_printed();
    state
}

/// Numbers of entries that the driver keeps, by name, for tests of what grows; none before `cuInit`.
pub fn retained() -> Vec<(&'static str, usize)> {
    let Ok(state) = state() else { return Vec::new() };
    let clocks = state.streams.values().map(|stream| stream.clock.len()).max();
    let mut retained = vec![
        ("contexts", state.contexts.len()),
        ("streams", state.streams.len()),
        ("items", state.streams.values().map(|stream| stream.queue.len()).sum()),
        ("longest clock", clocks.unwrap_or(0)),
        ("events", state.events.len()),
        ("modules", state.modules.len()),
        ("functions", state.functions.len()),
        ("linkers", state.linkers.len()),
        ("graphs", state.graphs.len()),
        ("nodes", state.nodes.len()),
        ("executables", state.executables.len()),
        ("pools", state.pools.len()),
        ("arrays", state.arrays.len()),
        ("textures", state.textures.len()),
        ("allocations", state.blocks.len()),
        ("watched", state.races.watched.len()),
        ("defects", state.report.defects()),
    ];
    retained.extend(state.races.retained());
    retained
}

/// Wakes the threads that wait.
pub fn changed() {
    CHANGED.notify_all();
}

impl State {
    fn new(settings: Settings) -> Self {
        let devices = (0..settings.devices).map(|number| Device::new(number, &settings)).collect();
        let report = Report::new(settings.report.clone());
        let mut state = Self {
            settings,
            devices,
            contexts: HashMap::new(),
            streams: HashMap::new(),
            events: HashMap::new(),
            modules: HashMap::new(),
            functions: HashMap::new(),
            linkers: HashMap::new(),
            graphs: HashMap::new(),
            nodes: HashMap::new(),
            executables: HashMap::new(),
            user_objects: BTreeMap::new(),
            pools: HashMap::new(),
            arrays: HashMap::new(),
            textures: HashMap::new(),
            blocks: BTreeMap::new(),
            report,
            programs: Programs::default(),
            races: Races::default(),
            next: 0x1000,
        };
        for number in 0..state.devices.len() {
            let pool = state.handle();
            state.pools.insert(pool, Pool { device: number, ..Pool::default() });
            state.devices[number].default_pool = pool;
            state.devices[number].pool = pool;
        }
        state
    }

    /// Returns a new handle.
    pub fn handle(&mut self) -> Handle {
        self.next += 0x10;
        self.next
    }

    /// Returns a device by its number.
    ///
    /// # Errors
    /// `INVALID_DEVICE` if there is none.
    pub fn device(&mut self, number: i32) -> Answer<&mut Device> {
        let number = usize::try_from(number).map_err(|_| Code::INVALID_DEVICE)?;
        self.devices.get_mut(number).ok_or(Code::INVALID_DEVICE)
    }
}
