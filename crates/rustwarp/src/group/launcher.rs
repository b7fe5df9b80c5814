//! The place of this process among the ranks that a launcher has started.

use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Port of rank 0 if no variable sets it; torchrun's default.
const PORT: u16 = 29400;
/// Limit of waits if no variable sets it.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The place of this process among the ranks that a launcher has started, and where rank 0 is reached.
///
/// [`Launcher::from_environment`] reads it from the variables of torchrun, Open MPI's `mpirun` and SLURM's `srun`;
/// [`Launcher::new`] sets it by hand.
///
/// ```
/// # use rustwarp::group::Launcher;
/// let launcher = Launcher::new(1, 4, "127.0.0.1", 29400);
/// assert_eq!(launcher.size, 4);
/// ```
#[derive(Clone)]
pub struct Launcher {
    /// The number of this process among all, from 0.
    pub rank: usize,
    /// The number of processes.
    pub size: usize,
    /// The number of this process among those of its machine, from 0: it selects the GPU.
    pub local_rank: usize,
    /// The host of rank 0: a name or an address.
    pub address: String,
    /// The port at which rank 0 listens.
    pub port: u16,
    /// The limit for joining, and for waits in collective operations.
    pub timeout: Duration,
    secret: Option<Vec<u8>>,
}

impl Launcher {
    /// The place that the environment describes; `None` if no launcher's variables are set.
    ///
    /// | | torchrun and others | Open MPI | SLURM's `srun` |
    /// |---|---|---|---|
    /// | rank | `RANK` | `OMPI_COMM_WORLD_RANK` | `SLURM_PROCID` |
    /// | size | `WORLD_SIZE` | `OMPI_COMM_WORLD_SIZE` | `SLURM_NTASKS` |
    /// | local rank | `LOCAL_RANK` | `OMPI_COMM_WORLD_LOCAL_RANK` | `SLURM_LOCALID` |
    ///
    /// The first of them whose variables are set counts. `MASTER_ADDR` is the host of rank 0, and `MASTER_PORT` its
    /// port, 29400 if it is not set. torchrun itself uses that port if `TORCHELASTIC_USE_AGENT_STORE` is `True`: then
    /// the next one is used. `RUSTWARP_PORT` replaces the port. `RUSTWARP_TIMEOUT` limits waits, in seconds, 300 if it
    /// is not set. `RUSTWARP_SECRET` is the text that every rank must have to join: several machines need one.
    ///
    /// # Errors
    /// [`Error::Argument`] if variables are missing, contradict each other or are not numbers.
    pub fn from_environment() -> Result<Option<Self>> {
        if let Err(std::env::VarError::NotUnicode(_)) = std::env::var("RUSTWARP_SECRET") {
            return Err(Error::Argument("RUSTWARP_SECRET is no UTF-8 text: use letters and digits".to_owned()));
        }
        Self::from_variables(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// A place set by hand. The ranks are on one machine, unless [`Launcher::with_local_rank`] says otherwise, there is
    /// no secret, and waits end after 300 s.
    pub fn new(rank: usize, size: usize, address: impl Into<String>, port: u16) -> Self {
        Self { rank, size, local_rank: rank, address: address.into(), port, timeout: TIMEOUT, secret: None }
    }

    /// Sets the text that every rank must have to join. An empty one counts as none.
    #[must_use]
    pub fn with_secret(mut self, secret: impl Into<Vec<u8>>) -> Self {
        self.secret = Some(secret.into()).filter(|secret| !secret.is_empty());
        self
    }

    /// Sets the limit for joining and for waits in collective operations.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the number of this process among those of its machine.
    #[must_use]
    pub fn with_local_rank(mut self, local_rank: usize) -> Self {
        self.local_rank = local_rank;
        self
    }

    /// The text that every rank must have to join.
    pub(super) fn secret(&self) -> Option<&[u8]> {
        self.secret.as_deref()
    }

    /// Checks what the fields must satisfy.
    ///
    /// # Errors
    /// [`Error::Argument`] for a rank out of range or an empty address.
    pub(super) fn check(&self) -> Result<()> {
        if self.rank >= self.size {
            let Self { rank, size, .. } = self;
            return Err(Error::Argument(format!("rank {rank} of a group of {size}: ranks are numbered from 0")));
        }
        if self.size > u32::MAX as usize {
            return Err(Error::Argument(format!("a group of {} ranks: the limit is {}", self.size, u32::MAX)));
        }
        if self.address.trim().is_empty() {
            return Err(Error::Argument("the address of rank 0 is empty: set it to the name of its host".to_owned()));
        }
        Ok(())
    }

    /// The place that the variables describe.
    fn from_variables(lookup: impl Fn(&str) -> Option<String>) -> Result<Option<Self>> {
        let variables = Variables(&lookup);
        let kind = KINDS.iter().find(|kind| kind.is_present(&variables));
        kind.map(|kind| kind.read(&variables)).transpose()
    }
}

impl fmt::Debug for Launcher {
    /// Prints all but the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launcher")
            .field("rank", &self.rank)
            .field("size", &self.size)
            .field("local_rank", &self.local_rank)
            .field("address", &self.address)
            .field("port", &self.port)
            .field("timeout", &self.timeout)
            .field("has_secret", &self.secret.is_some())
            .finish()
    }
}

/// The variables of one kind of launcher.
struct Kind {
    rank: &'static str,
    size: &'static str,
    local_rank: &'static str,
    /// The number of ranks on this machine: if it is the size, rank 0 is on this machine, too.
    local_size: Option<&'static str>,
    /// A variable without which the others describe no started rank.
    started: Option<&'static str>,
    /// A command that sets `MASTER_ADDR`.
    export: &'static str,
}

/// The launchers, in the order in which they are looked for.
const KINDS: [Kind; 3] = [
    Kind {
        rank: "RANK",
        size: "WORLD_SIZE",
        local_rank: "LOCAL_RANK",
        local_size: None,
        started: None,
        export: "export MASTER_ADDR=<host of rank 0>",
    },
    Kind {
        rank: "OMPI_COMM_WORLD_RANK",
        size: "OMPI_COMM_WORLD_SIZE",
        local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
        local_size: Some("OMPI_COMM_WORLD_LOCAL_SIZE"),
        started: None,
        export: "mpirun -x MASTER_ADDR=<host of rank 0> ...",
    },
    Kind {
        rank: "SLURM_PROCID",
        size: "SLURM_NTASKS",
        local_rank: "SLURM_LOCALID",
        local_size: None,
        started: Some("SLURM_STEP_ID"),
        export: "export MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)",
    },
];

impl Kind {
    /// Whether this launcher has started the process. Where the launcher also sets its variables outside of what it
    /// starts, one task alone does not count.
    fn is_present(&self, variables: &Variables<'_>) -> bool {
        match self.started {
            None => variables.has(self.rank) || variables.has(self.size),
            Some(started) => {
                variables.has(started)
                    && variables.has(self.rank)
                    && variables.text(self.size).is_some_and(|size| size.trim() != "1")
            }
        }
    }

    /// Reads the place of the process.
    fn read(&self, variables: &Variables<'_>) -> Result<Launcher> {
        for (name, other) in [(self.rank, self.size), (self.size, self.rank)] {
            if let (None, Some(value)) = (variables.text(name), variables.text(other)) {
                return Err(Error::Argument(format!("{other} is `{value}`, and {name} is not set: export both")));
            }
        }
        let rank: usize = variables.required(self.rank)?;
        let size: usize = variables.required(self.size)?;
        if rank >= size {
            return Err(Error::Argument(format!(
                "{} is `{rank}`, and {} is `{size}`: ranks are numbered from 0, below the size",
                self.rank, self.size
            )));
        }
        let local_rank: usize = variables.required(self.local_rank)?;
        let local_size: Option<usize> = self.local_size.map_or(Ok(None), |name| variables.number(name))?;
        let address = match variables.text("MASTER_ADDR").filter(|address| !address.trim().is_empty()) {
            Some(address) => address.trim().to_owned(),
            None if local_size == Some(size) => "127.0.0.1".to_owned(),
            None => {
                return Err(Error::Argument(format!(
                    "{} is `{rank}`, and MASTER_ADDR, the host of rank 0, is not set: `{}`",
                    self.rank, self.export
                )));
            }
        };
        let launcher = Launcher::new(rank, size, address, port(variables)?)
            .with_local_rank(local_rank)
            .with_timeout(timeout(variables)?);
        Ok(match variables.text("RUSTWARP_SECRET") {
            Some(secret) => launcher.with_secret(secret),
            None => launcher,
        })
    }
}

/// The port of rank 0.
fn port(variables: &Variables<'_>) -> Result<u16> {
    if let Some(port) = variables.number("RUSTWARP_PORT")? {
        return nonzero("RUSTWARP_PORT", port);
    }
    let Some(port) = variables.number("MASTER_PORT")? else { return Ok(PORT) };
    let port = nonzero("MASTER_PORT", port)?;
    if !variables.text("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|text| text.eq_ignore_ascii_case("true")) {
        return Ok(port);
    }
    port.checked_add(1).ok_or_else(|| {
        Error::Argument(format!(
            "MASTER_PORT is `{port}`, which torchrun uses, and there is none above: set RUSTWARP_PORT"
        ))
    })
}

/// The port, unless it is 0.
fn nonzero(name: &str, port: u16) -> Result<u16> {
    if port == 0 {
        return Err(Error::Argument(format!("{name} is `0`: every rank must be given the same port, from 1 to 65535")));
    }
    Ok(port)
}

/// The limit of waits.
fn timeout(variables: &Variables<'_>) -> Result<Duration> {
    match variables.number::<u32>("RUSTWARP_TIMEOUT")? {
        None => Ok(TIMEOUT),
        Some(0) => Err(Error::Argument("RUSTWARP_TIMEOUT is `0`: set it to a number of seconds".to_owned())),
        Some(seconds) => Ok(Duration::from_secs(seconds.into())),
    }
}

/// The variables of the environment, or those of a test.
struct Variables<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Variables<'_> {
    fn text(&self, name: &str) -> Option<String> {
        (self.0)(name)
    }

    fn has(&self, name: &str) -> bool {
        self.text(name).is_some()
    }

    /// The number that the variable holds, if it is set.
    fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.trim().parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(Error::Argument(format!("{name} is `{text}`: it must be a whole number within its range"))),
        }
    }

    /// The number that the variable holds.
    fn required<T: FromStr>(&self, name: &str) -> Result<T> {
        self.number(name)?.ok_or_else(|| {
            Error::Argument(format!("{name} is not set, as the launcher's other variables are: export it"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<Launcher>> {
        Launcher::from_variables(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn place(variables: &[(&str, &str)]) -> Launcher {
        read(variables).expect("valid variables").expect("a launcher")
    }

    /// Checks that reading fails with a message that contains all parts.
    fn fails(variables: &[(&str, &str)], parts: &[&str]) {
        let error = read(variables).expect_err("invalid variables");
        assert!(matches!(error, Error::Argument(_)));
        for part in parts {
            assert!(error.to_string().contains(part), "{error}: {part}");
        }
    }

    const TORCHRUN: [(&str, &str); 5] =
        [("RANK", "3"), ("WORLD_SIZE", "8"), ("LOCAL_RANK", "1"), ("MASTER_ADDR", "node7"), ("MASTER_PORT", "1234")];
    const OPEN_MPI: [(&str, &str); 4] = [
        ("OMPI_COMM_WORLD_RANK", "1"),
        ("OMPI_COMM_WORLD_SIZE", "4"),
        ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
    ];
    const SLURM: [(&str, &str); 4] =
        [("SLURM_PROCID", "2"), ("SLURM_NTASKS", "4"), ("SLURM_LOCALID", "0"), ("SLURM_STEP_ID", "0")];

    fn with<'a>(base: &[(&'a str, &'a str)], more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        [more, base].concat()
    }

    fn without<'a>(base: &[(&'a str, &'a str)], name: &str) -> Vec<(&'a str, &'a str)> {
        base.iter().copied().filter(|(known, _)| *known != name).collect()
    }

    #[test]
    fn no_variables_are_no_launcher() {
        assert!(read(&[]).expect("valid").is_none());
        assert!(read(&[("MASTER_ADDR", "node7"), ("RUSTWARP_SECRET", "text")]).expect("valid").is_none());
    }

    #[test]
    fn torchrun_is_read() {
        let launcher = place(&TORCHRUN);
        assert_eq!((launcher.rank, launcher.size, launcher.local_rank), (3, 8, 1));
        assert_eq!((launcher.address.as_str(), launcher.port), ("node7", 1234));
        assert_eq!((launcher.timeout, launcher.secret()), (Duration::from_secs(300), None));
        assert_eq!(place(&without(&TORCHRUN, "MASTER_PORT")).port, 29400);
        assert_eq!(place(&with(&TORCHRUN, &[("TORCHELASTIC_USE_AGENT_STORE", "True")])).port, 1235);
        assert_eq!(place(&with(&TORCHRUN, &[("TORCHELASTIC_USE_AGENT_STORE", "False")])).port, 1234);
        let own = [("TORCHELASTIC_USE_AGENT_STORE", "True"), ("RUSTWARP_PORT", "77"), ("RUSTWARP_TIMEOUT", "9")];
        let launcher = place(&with(&TORCHRUN, &own));
        assert_eq!((launcher.port, launcher.timeout), (77, Duration::from_secs(9)));
    }

    #[test]
    fn torchrun_wins_over_open_mpi_and_open_mpi_over_slurm() {
        let two = with(&OPEN_MPI, &SLURM);
        assert_eq!(place(&two).rank, 1);
        assert_eq!(place(&with(&TORCHRUN, &two)).rank, 3);
    }

    #[test]
    fn open_mpi_on_one_machine_needs_no_address() {
        assert_eq!(place(&OPEN_MPI).address, "127.0.0.1");
        let two = with(&OPEN_MPI, &[("OMPI_COMM_WORLD_LOCAL_SIZE", "2")]);
        fails(&two, &["OMPI_COMM_WORLD_RANK is `1`", "MASTER_ADDR", "mpirun -x MASTER_ADDR="]);
        assert_eq!(place(&with(&two, &[("MASTER_ADDR", "node1")])).address, "node1");
    }

    #[test]
    fn slurm_counts_within_srun_only() {
        assert_eq!(place(&with(&SLURM, &[("MASTER_ADDR", "node1")])).rank, 2);
        fails(&SLURM, &["export MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)"]);
        assert!(read(&without(&SLURM, "SLURM_STEP_ID")).expect("valid").is_none());
        assert!(read(&with(&SLURM, &[("SLURM_NTASKS", "1")])).expect("valid").is_none());
    }

    #[test]
    fn contradictions_name_the_variable_and_its_value() {
        fails(&without(&TORCHRUN, "WORLD_SIZE"), &["RANK is `3`", "WORLD_SIZE is not set"]);
        fails(&without(&TORCHRUN, "RANK"), &["WORLD_SIZE is `8`", "RANK is not set"]);
        fails(&without(&TORCHRUN, "LOCAL_RANK"), &["LOCAL_RANK is not set"]);
        fails(&without(&TORCHRUN, "MASTER_ADDR"), &["RANK is `3`", "export MASTER_ADDR="]);
        fails(&with(&TORCHRUN, &[("RANK", "8")]), &["RANK is `8`", "WORLD_SIZE is `8`"]);
        let wrong =
            "RANK=-1 WORLD_SIZE=many MASTER_PORT=65536 RUSTWARP_PORT=0 RUSTWARP_TIMEOUT=0 RUSTWARP_TIMEOUT=soon";
        for (name, value) in wrong.split(' ').filter_map(|pair| pair.split_once('=')) {
            fails(&with(&TORCHRUN, &[(name, value)]), &[&format!("{name} is `{value}`")]);
        }
        let last = [("MASTER_PORT", "65535"), ("TORCHELASTIC_USE_AGENT_STORE", "True")];
        fails(&with(&TORCHRUN, &last), &["MASTER_PORT is `65535`", "RUSTWARP_PORT"]);
    }

    #[test]
    fn secret_is_not_printed() {
        let launcher = place(&with(&TORCHRUN, &[("RUSTWARP_SECRET", "swordfish")]));
        assert_eq!(launcher.secret(), Some(b"swordfish".as_slice()));
        let text = format!("{launcher:?}");
        assert!(text.contains("has_secret: true") && !text.contains("swordfish"), "{text}");
        assert_eq!(place(&with(&TORCHRUN, &[("RUSTWARP_SECRET", "")])).secret(), None);
    }
}
