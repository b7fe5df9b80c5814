//! Memory that a call needs beside its operands, for the next call of the same kind.

use crate::error::Result;
use crate::sync::lock;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Mutex;

/// Plans and small results of the ranks of this process, by their type: one thread starts the work of all GPUs, and the
/// last one would wait for the allocations of those before.
#[derive(Default)]
pub(super) struct Kept(Mutex<HashMap<TypeId, Box<dyn Any + Send>>>);

impl Kept {
    /// Runs `work` with what the last call has left, if that had the same key, or else with what `make` makes. Only
    /// work that succeeds leaves it to the next call: after a failure, scratch memory has other values than kernels
    /// expect.
    ///
    /// # Errors
    /// Those of `make` and of `work`.
    pub fn with<K: PartialEq + Send + 'static, P: Send + 'static, R>(
        &self,
        key: K,
        make: impl FnOnce() -> Result<P>,
        work: impl FnOnce(&mut P) -> Result<R>,
    ) -> Result<R> {
        let kind = TypeId::of::<(K, P)>();
        // Another thread that calls meanwhile finds nothing, and makes its own.
        let last = lock(&self.0).remove(&kind).and_then(|last| last.downcast::<(K, P)>().ok());
        let mut plan = match last.filter(|last| last.0 == key) {
            Some(last) => last,
            None => Box::new((key, make()?)),
        };
        let result = work(&mut plan.1)?;
        lock(&self.0).insert(kind, plan);
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn a_plan_is_used_again_for_the_same_key_if_the_work_succeeded() {
        let kept = Kept::default();
        let call = |size: u32, work: &mut dyn FnMut(&mut u32) -> Result<u32>| {
            let mut made = false;
            let make = || {
                made = true;
                Ok(size)
            };
            (kept.with(size, make, work).ok(), made)
        };
        assert_eq!(call(4, &mut |plan| Ok(*plan)), (Some(4), true));
        assert_eq!(call(4, &mut |plan| Ok(*plan)), (Some(4), false));
        assert_eq!(call(5, &mut |plan| Ok(*plan)), (Some(5), true), "another size");
        assert_eq!(call(5, &mut |_| Err(Error::Device("a fault".to_owned()))), (None, false));
        assert_eq!(call(5, &mut |plan| Ok(*plan)), (Some(5), true), "the last call failed");
    }
}
