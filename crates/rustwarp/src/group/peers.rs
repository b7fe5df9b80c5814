//! The other ranks, as the host reaches them: in this process, or through rank 0's store.

use super::store::{Client, Ticket};
use crate::error::{Error, Result};
use std::sync::OnceLock;

/// The other ranks.
pub(super) enum Peers {
    /// All ranks are in this process, and do the same by construction. The value is the reason why they no longer
    /// communicate.
    Here(OnceLock<String>),
    /// Each rank has a process of its own.
    Processes(Box<Client>),
}

/// What [`Peers::agree`] returns: a call that this rank has posted, and on which the others may not have agreed yet.
#[must_use]
pub(super) struct Agreement(Option<Ticket>);

impl Agreement {
    /// Whether other processes have to agree.
    pub fn is_open(&self) -> bool {
        self.0.is_some()
    }
}

impl Peers {
    /// The ranks of one process.
    pub fn here() -> Self {
        Self::Here(OnceLock::new())
    }

    /// Posts what this rank does next, without waiting.
    ///
    /// # Errors
    /// [`Error::Group`] if the group has failed.
    pub fn agree(&self, what: impl FnOnce() -> String) -> Result<Agreement> {
        Ok(Agreement(match self {
            Self::Here(_) => {
                self.check()?;
                None
            }
            Self::Processes(client) => Some(client.post(&what(), Vec::new())?),
        }))
    }

    /// Waits until all ranks have posted the same.
    ///
    /// # Errors
    /// [`Error::Group`] that names ranks that do something else, that did not come in time, or that have ended.
    pub fn await_all(&self, agreement: Agreement) -> Result<()> {
        if let (Self::Processes(client), Some(ticket)) = (self, agreement.0) {
            client.wait(ticket)?;
        }
        Ok(())
    }

    /// The bytes of all ranks, in their order, of which this process gives its own.
    ///
    /// # Errors
    /// Those of [`Peers::await_all`].
    pub fn exchange(&self, what: &str, own: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        match self {
            Self::Here(_) => Ok(own),
            Self::Processes(client) => client.exchange(what, own.concat()),
        }
    }

    /// Checks that no rank has ended, and that the ranks still communicate.
    ///
    /// # Errors
    /// [`Error::Group`] with the reason otherwise.
    pub fn check(&self) -> Result<()> {
        let failure = match self {
            Self::Processes(client) => client.failure(),
            Self::Here(failure) => failure.get().cloned(),
        };
        failure.map_or(Ok(()), |reason| Err(Error::Group(reason)))
    }

    /// Makes an error the end of the group on all ranks.
    pub fn fail(&self, error: &Error) {
        match self {
            Self::Processes(client) => client.fail(&error.to_string()),
            // A later reason follows from the first one.
            Self::Here(failure) => drop(failure.set(error.to_string())),
        }
    }

    /// Tells the other ranks of an error here, and returns it. An error of the group is known there.
    pub fn report<R>(&self, result: Result<R>) -> Result<R> {
        if let (Self::Processes(_), Err(error)) = (self, &result)
            && !matches!(error, Error::Group(_))
        {
            self.fail(error);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_failure_of_the_links_ends_a_group_of_one_process() {
        let (peers, error) = (Peers::here(), |text: &str| Error::Device(text.to_owned()));
        assert!(peers.report::<()>(Err(error("a call"))).is_err() && peers.check().is_ok());
        assert!(peers.agree(|| "a call".to_owned()).is_ok());
        peers.fail(&error("a link"));
        peers.fail(&error("what follows"));
        let failed = peers.check().expect_err("a failure");
        assert!(matches!(&failed, Error::Group(text) if text.contains("a link")), "{failed}");
        assert!(peers.agree(|| "a call".to_owned()).is_err());
    }
}
