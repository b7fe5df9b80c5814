//! Objects of the program that live as long as graphs refer to them.

use std::sync::Mutex;

/// An object of the program, which has a function that ends it.
#[derive(Debug)]
pub struct UserObject {
    /// A function that takes `data`.
    destroy: usize,
    data: usize,
}

impl UserObject {
    /// Creates an object.
    ///
    /// # Safety
    /// `destroy` must be a function that takes a pointer, and may be called with `data`, once and on any thread.
    pub unsafe fn new(destroy: usize, data: usize) -> Self {
        Self { destroy, data }
    }
}

/// Held while an object ends: they end one after the other, as on the driver's own thread.
static ENDING: Mutex<()> = Mutex::new(());

impl Drop for UserObject {
    /// Ends the object on another thread, because the program's function may take locks of its own, and the state of
    /// the driver is locked here.
    fn drop(&mut self) {
        // SAFETY: by the contract of `new`.
        let destroy: extern "C" fn(usize) = unsafe { std::mem::transmute(self.destroy) };
        let data = self.data;
        let end = move || {
            let _one_by_one = ENDING.lock();
            destroy(data);
        };
        // Without a thread the object is not freed: that is better than a deadlock.
        if std::thread::Builder::new().spawn(end).is_err() {
            crate::log::line("no thread for the destructor of a user object: the object is not freed");
        }
    }
}
