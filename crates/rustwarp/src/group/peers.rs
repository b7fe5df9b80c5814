//! The other ranks, as the host reaches them: in this process, or through rank 0's store.

use super::store::{Client, Ticket};
use crate::error::{Error, Result};

/// The other ranks.
pub(super) enum Peers {
    /// All ranks are in this process, and do the same by construction.
    Here,
    /// Each rank has a process of its own.
    Processes(Box<Client>),
}

/// A call that the ranks make together, of which they post what it is; see [`Peers::agree`].
#[must_use]
pub(super) struct Agreement(Option<Ticket>);

impl Peers {
    /// Posts what this rank does next, without waiting.
    ///
    /// # Errors
    /// [`Error::Group`] if the group has failed.
    pub fn agree(&self, what: impl FnOnce() -> String) -> Result<Agreement> {
        Ok(Agreement(match self {
            Self::Here => None,
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
            Self::Here => Ok(own),
            Self::Processes(client) => client.exchange(what, own.concat()),
        }
    }

    /// Checks that no rank has ended.
    ///
    /// # Errors
    /// [`Error::Group`] with the reason if one has.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Processes(client) => client.failure().map_or(Ok(()), |reason| Err(Error::Group(reason))),
            Self::Here => Ok(()),
        }
    }

    /// Tells the other ranks of an error here, and returns it. An error of the group is known there.
    pub fn report<R>(&self, result: Result<R>) -> Result<R> {
        if let (Self::Processes(client), Err(error)) = (self, &result)
            && !matches!(error, Error::Group(_))
        {
            client.fail(&error.to_string());
        }
        result
    }
}
