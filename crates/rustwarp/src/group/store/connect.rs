//! How a rank reaches rank 0: addresses, attempts until the timeout, and what to check when all fail.

use super::config::Config;
use super::handshake::{Refusal, apply};
use super::hello::Hello;
use super::names::seconds;
use super::secret::Secret;
use super::timed::deadline;
use crate::error::{Error, Result};
use crate::group::launcher::Launcher;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

/// The pause behind the first failed attempt; it doubles up to the last one.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LAST_PAUSE: Duration = Duration::from_secs(1);
/// Time that an attempt gets however little is left.
const LEAST: Duration = Duration::from_millis(1);

/// Host and port of rank 0, for messages.
pub fn place(launcher: &Launcher) -> String {
    format!("{}:{}", launcher.address, launcher.port)
}

/// Opens the port of rank 0: to all machines if there is a secret, otherwise to this one.
///
/// # Errors
/// [`Error::Argument`] without a secret, if the address is not that of this machine alone; [`Error::Group`] if the port
/// cannot be opened.
pub fn listen(launcher: &Launcher) -> Result<TcpListener> {
    let addresses = addresses(launcher)?;
    let address = match (launcher.secret(), &addresses) {
        (None, Ok(addresses)) => {
            let first = addresses.iter().find(|address| address.is_ipv4()).or(addresses.first());
            first.map_or(Ipv4Addr::LOCALHOST.into(), SocketAddr::ip)
        }
        (None, Err(reason)) => return Err(Error::Group(reason.clone())),
        (Some(_), Ok(addresses)) if addresses.iter().all(SocketAddr::is_ipv6) => Ipv6Addr::UNSPECIFIED.into(),
        (Some(_), _) => Ipv4Addr::UNSPECIFIED.into(),
    };
    let address = SocketAddr::new(address, launcher.port);
    TcpListener::bind(address).map_err(|error| {
        Error::Group(format!(
            "rank 0 cannot listen at {address}: {error}: end the program that uses the port, or set RUSTWARP_PORT to a \
             free one for every rank"
        ))
    })
}

/// Connects with rank 0 and authenticates. Rank 0 may start later, so attempts fail for good only at the deadline.
/// `known` is the address of a server in this process.
///
/// # Errors
/// [`Error::Argument`] without a secret, if the address is not that of this machine alone; [`Error::Group`] if rank 0
/// refuses this rank or is not reached.
pub fn reach(
    launcher: &Launcher,
    hello: &Hello,
    config: &Config,
    deadline: Instant,
    known: Option<SocketAddr>,
) -> Result<TcpStream> {
    let secret = Secret::new(launcher.secret());
    let mut pause = FIRST_PAUSE;
    loop {
        let addresses = match known {
            Some(address) => Ok(vec![address]),
            None => addresses(launcher)?,
        };
        let reason = match addresses.and_then(|addresses| connect(&addresses, config.handshake, deadline)) {
            Ok(stream) => {
                let place_in_group = (launcher.rank as u32, launcher.size as u32);
                match apply(&stream, &secret, place_in_group, hello, config.handshake, deadline) {
                    Ok(()) => return Ok(stream),
                    Err(Refusal::Broken(reason)) => reason,
                    Err(refusal) => return Err(refused(launcher, refusal)),
                }
            }
            Err(reason) => reason,
        };
        if Instant::now() + pause >= deadline {
            return Err(Error::Group(format!(
                "rank {} cannot reach rank 0 at {} within {}: {reason}: check that rank 0 runs, MASTER_ADDR and \
                 MASTER_PORT, and that no firewall closes the port",
                launcher.rank,
                place(launcher),
                seconds(launcher.timeout)
            )));
        }
        thread::sleep(pause);
        pause = (2 * pause).min(LAST_PAUSE);
    }
}

/// The error for a refusal that another attempt does not change.
fn refused(launcher: &Launcher, refusal: Refusal) -> Error {
    let place = place(launcher);
    Error::Group(match refusal {
        Refusal::SecretDiffers => {
            format!("rank 0 at {place} refuses the secret: set RUSTWARP_SECRET to the same text for every rank")
        }
        Refusal::Unproven => format!(
            "what answers at {place} does not hold the secret of this rank: check MASTER_ADDR and MASTER_PORT, and set \
             RUSTWARP_SECRET to the same text for every rank"
        ),
        Refusal::Refused(reason) | Refusal::Broken(reason) => {
            format!("rank 0 at {place} refuses rank {}: {reason}", launcher.rank)
        }
    })
}

/// Connects with the first address that answers; the error is the reason of the last one that did not.
fn connect(addresses: &[SocketAddr], limit: Duration, until: Instant) -> Result<TcpStream, String> {
    let mut reason = "the name has no address".to_owned();
    for address in addresses {
        let limit = until.min(deadline(limit)).saturating_duration_since(Instant::now()).max(LEAST);
        match TcpStream::connect_timeout(address, limit) {
            Ok(stream) if stream.local_addr().is_ok_and(|own| own == *address) => {
                // The kernel has connected the socket with itself: its own port was chosen to be rank 0's.
                reason = format!("{address}: connection refused");
            }
            Ok(stream) => match stream.set_nodelay(true) {
                Ok(()) => return Ok(stream),
                Err(error) => reason = format!("{address}: {error}"),
            },
            Err(error) => reason = format!("{address}: {error}"),
        }
    }
    Err(reason)
}

/// The addresses of rank 0, or why its name has none, which may change.
///
/// # Errors
/// [`Error::Argument`] without a secret, if the address is not that of this machine alone.
fn addresses(launcher: &Launcher) -> Result<Result<Vec<SocketAddr>, String>> {
    let host = launcher.address.trim();
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let addresses: Vec<SocketAddr> = match (host, launcher.port).to_socket_addrs() {
        Ok(addresses) => addresses.collect(),
        Err(error) => return Ok(Err(format!("cannot resolve the host of rank 0, `{host}`: {error}"))),
    };
    let foreign = addresses.iter().map(SocketAddr::ip).find(|ip| !is_loopback(*ip));
    match (launcher.secret(), foreign) {
        (None, Some(foreign)) => Err(Error::Argument(format!(
            "rank 0 at `{host}` ({foreign}) would be open to the network without a secret: set RUSTWARP_SECRET to the \
             same random text for every rank, e.g. from `openssl rand -hex 16`"
        ))),
        _ => Ok(Ok(addresses)),
    }
}

fn is_loopback(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_needs_no_secret_and_is_not_left() {
        for address in ["127.0.0.1", "localhost", "127.0.1.1"] {
            let listener = listen(&Launcher::new(0, 2, address, 0)).expect("a free port");
            assert!(is_loopback(listener.local_addr().expect("an address").ip()));
        }
    }

    #[test]
    fn other_machines_need_a_secret() {
        for rank in 0..2 {
            let launcher = Launcher::new(rank, 2, "192.0.2.7", 29400);
            let error = match rank {
                0 => listen(&launcher).map(drop),
                _ => reach(&launcher, &Hello::default(), &Config::default(), Instant::now(), None).map(drop),
            };
            let error = error.expect_err("no secret");
            assert!(matches!(error, Error::Argument(_)));
            let text = error.to_string();
            assert!(
                text.contains("192.0.2.7") && text.contains("set RUSTWARP_SECRET to the same random text"),
                "{text}"
            );
            assert!(text.contains("`openssl rand -hex 16`"), "{text}");
        }
        let listener = listen(&Launcher::new(0, 2, "192.0.2.7", 0).with_secret("text")).expect("a free port");
        assert!(listener.local_addr().expect("an address").ip().is_unspecified());
    }

    #[test]
    fn a_used_port_is_reported() {
        let used = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = used.local_addr().expect("an address").port();
        let error = listen(&Launcher::new(0, 2, "127.0.0.1", port)).expect_err("a used port").to_string();
        assert!(error.contains(&format!("127.0.0.1:{port}")) && error.contains("RUSTWARP_PORT"), "{error}");
    }
}
