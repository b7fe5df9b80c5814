//! Progress of a build on standard error: one line per module, or on a terminal one line that is overwritten.

use std::{
    io::{IsTerminal, Write},
    sync::Mutex,
    time::Duration,
};

/// Counts finished modules. Threads share it.
pub(crate) struct Progress {
    package: String,
    total: usize,
    terminal: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    done: usize,
    running: Vec<String>,
}

impl Progress {
    pub fn new(package: &str, total: usize) -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self { package: package.to_owned(), total, terminal, state: Mutex::default() }
    }

    /// Records that the build of `what` has started.
    pub fn begin(&self, what: &str) {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        state.running.push(what.to_owned());
        self.show(&state);
    }

    /// Records that the build of `what` has finished.
    pub fn end(&self, what: &str, time: Duration) {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        state.done += 1;
        state.running.retain(|name| name != what);
        let line = format!("module {}/{} {what} {:.1} s", state.done, self.total, time.as_secs_f32());
        if !self.terminal {
            self.print(&format!("{}: {line}\n", self.package));
        } else if state.done == self.total {
            self.print(&format!("\r\x1b[K    Finished {} modules of {}\n", self.total, self.package));
        } else {
            self.show(&state);
        }
    }

    fn show(&self, state: &State) {
        if self.terminal {
            let (done, total) = (state.done, self.total);
            self.print(&format!(
                "\r\x1b[K    Optimising {} {done}/{total}: {}",
                self.package,
                state.running.join(", ")
            ));
        }
    }

    /// Prints a text; a failure to print is ignored, because it must not fail the build.
    fn print(&self, text: &str) {
        let mut out = std::io::stderr().lock();
        let _ = out.write_all(text.as_bytes());
        let _ = out.flush();
    }
}
