//! Locks between processes: a file that is locked, which the system unlocks when the process ends, however it ends.

use std::{
    fs::{self, File, TryLockError},
    path::Path,
};

use crate::Error;

/// Held until dropped.
pub(crate) struct Lock {
    _file: File,
}

/// Takes the lock at `path`; `wait` is called first when another process has it.
pub(crate) fn lock(path: &Path, wait: impl FnOnce()) -> Result<Lock, Error> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    }
    let file = File::create(path).map_err(Error::io("create", path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            wait();
            file.lock().map_err(Error::io("lock", path))?;
        }
        Err(TryLockError::Error(source)) => return Err(Error::io("lock", path)(source)),
    }
    Ok(Lock { _file: file })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_one_waits_for_the_first() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("deep/lock");
        let first = lock(&path, || panic!("nobody holds it yet")).expect("locks");
        std::thread::scope(|scope| {
            let (send, receive) = std::sync::mpsc::channel();
            let path = &path;
            let second = scope.spawn(move || lock(path, || send.send(()).expect("the first one listens")).map(|_| ()));
            receive.recv().expect("the second one says that it waits");
            drop(first);
            second.join().expect("no panic").expect("locks");
        });
    }
}
