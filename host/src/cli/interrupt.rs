//! Interruption by the user (Ctrl-C) or the system: what is finished is shown before the process ends.

use std::sync::atomic::{AtomicBool, Ordering};

/// Exit code of an interrupted command, as shells report it.
pub(super) const INTERRUPTED: i32 = 130;

/// Runs `show` when the process is interrupted, and then ends it. A second interruption ends it at once. Where no
/// handler can be set, an interruption ends the process as usual.
pub(super) fn then_exit(show: impl FnMut() + Send + 'static) {
    static AGAIN: AtomicBool = AtomicBool::new(false);
    let mut show = Some(show);
    let handler = move || {
        if AGAIN.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
        // In a thread of its own, so that a reader who does not read cannot keep the process from ending.
        if let Some(mut show) = show.take() {
            std::thread::spawn(move || {
                show();
                std::process::exit(INTERRUPTED);
            });
        }
    };
    let _ = ctrlc::set_handler(handler);
}
