//! Locks between processes, by a locked file: the system unlocks it when the process ends for any reason.

use std::{
    fs::{self, File, TryLockError},
    path::Path,
};

use crate::Error;

/// A lock that is released when the value is dropped.
pub(crate) struct Lock {
    _file: File,
}

/// Takes the lock at `path`. If another process has it, calls `wait` first.
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
    fn the_second_lock_waits_for_the_first() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("deep/lock");
        let first = lock(&path, || panic!("no other process holds it")).expect("locks");
        std::thread::scope(|scope| {
            let (send, receive) = std::sync::mpsc::channel();
            let path = &path;
            let second = scope.spawn(move || lock(path, || send.send(()).expect("the channel is open")).map(|_| ()));
            receive.recv().expect("the second one waits");
            drop(first);
            second.join().expect("no panic").expect("locks");
        });
    }
}
