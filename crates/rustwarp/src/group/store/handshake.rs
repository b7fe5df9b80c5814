//! How a connection authenticates: nonces of both sides, the rank's hello with its proof, the verdict with rank 0's.
//!
//! The rank proves first, because strangers connect with rank 0, and a proof that they got could be compared with
//! guessed secrets. The verdict on a wrong secret has no proof for the same reason.

use super::clamped::clamped;
use super::hello::Hello;
use super::secret::{Nonce, Nonces, Proof, Secret, Side, nonce};
use super::timed::Timed;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// The name and version of the protocol.
const MAGIC: [u8; 8] = *b"rwgroup1";
/// Longest hello, in bytes.
const LONGEST_HELLO: usize = 4096;
/// Longest text of a verdict, in bytes.
const LONGEST_VERDICT: usize = 16 << 10;

const ACCEPTED: u8 = 0;
const REFUSED: u8 = 1;
const SECRET_DIFFERS: u8 = 2;

/// Why a rank may not join over a connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The connection broke: another one may succeed.
    Broken(String),
    /// Rank 0 has another secret.
    SecretDiffers,
    /// Whatever accepted the rank does not hold the secret.
    Unproven,
    /// Rank 0's reason.
    Refused(String),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Broken(match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "no answer to the handshake".to_owned(),
            io::ErrorKind::UnexpectedEof => "the connection was closed during the handshake".to_owned(),
            _ => error.to_string(),
        })
    }
}

/// A rank's side. `limit` is that of the first answer, `deadline` that of all.
///
/// # Errors
/// [`Refusal`].
pub fn apply(
    stream: &TcpStream,
    secret: &Secret,
    (rank, size): (u32, u32),
    hello: &Hello,
    limit: Duration,
    deadline: Instant,
) -> Result<(), Refusal> {
    let first = Instant::now().checked_add(limit).map_or(deadline, |first| first.min(deadline));
    let mut timed = Timed { stream, deadline: first };
    let mine = nonce().map_err(|error| Refusal::Broken(error.to_string()))?;
    timed.write_all(&[MAGIC.as_slice(), &mine].concat())?;
    if read::<8>(&mut timed)? != MAGIC {
        return Err(Refusal::Broken("what answers is not rank 0 of this version of the library".to_owned()));
    }
    let nonces = Nonces(mine, read(&mut timed)?);

    let mut body = Vec::new();
    body.extend(rank.to_le_bytes());
    body.extend(size.to_le_bytes());
    hello.write(&mut body);
    let proof = secret.prove(Side::Client, &nonces, &body);
    timed.write_all(&[(body.len() as u32).to_le_bytes().as_slice(), &body, &proof].concat())?;

    timed.deadline = deadline;
    let [verdict] = read(&mut timed)?;
    let text = text(&mut timed, LONGEST_VERDICT)?;
    let proof: Proof = read(&mut timed)?;
    if verdict == SECRET_DIFFERS {
        return Err(Refusal::SecretDiffers);
    }
    if !secret.verify(Side::Server, &nonces, &message(verdict, &text), &proof) {
        return Err(Refusal::Unproven);
    }
    match verdict {
        ACCEPTED => Ok(()),
        _ => Err(Refusal::Refused(String::from_utf8_lossy(&text).into_owned())),
    }
}

/// A rank that has proved that it holds the secret, and waits for the verdict.
#[derive(Debug)]
pub struct Applicant {
    /// Its number.
    pub rank: usize,
    /// The number of ranks that it was started with.
    pub size: usize,
    /// What it states about itself.
    pub hello: Hello,
    nonces: Nonces,
}

/// Rank 0's side, up to the verdict.
///
/// # Errors
/// Why the other side is no rank of the group, in words that end a sentence. It has been answered.
pub fn receive(stream: &TcpStream, secret: &Secret, deadline: Instant) -> Result<Applicant, String> {
    const STRANGER: &str = "it did not send what a rank sends";
    let mut timed = Timed { stream, deadline };
    let stranger = |_| STRANGER.to_owned();
    if read::<8>(&mut timed).map_err(stranger)? != MAGIC {
        return Err(STRANGER.to_owned());
    }
    let theirs: Nonce = read(&mut timed).map_err(stranger)?;
    let nonces = Nonces(theirs, nonce().map_err(|error| error.to_string())?);
    timed.write_all(&[MAGIC.as_slice(), &nonces.1].concat()).map_err(stranger)?;

    let body = text(&mut timed, LONGEST_HELLO).map_err(stranger)?;
    let proof: Proof = read(&mut timed).map_err(stranger)?;
    if !secret.verify(Side::Client, &nonces, &body, &proof) {
        let answer = [[SECRET_DIFFERS].as_slice(), &0_u32.to_le_bytes(), &Proof::default()].concat();
        // The other side may have gone.
        let _ = timed.write_all(&answer);
        drain(stream, deadline);
        return Err("its secret differs".to_owned());
    }
    let mut rest = body.as_slice();
    let mut number = || {
        let (number, behind) = rest.split_first_chunk()?;
        rest = behind;
        usize::try_from(u32::from_le_bytes(*number)).ok()
    };
    let (rank, size) = (number().ok_or(STRANGER)?, number().ok_or(STRANGER)?);
    let hello = Hello::read(&mut rest).ok_or(STRANGER)?;
    Ok(Applicant { rank, size, hello, nonces })
}

impl Applicant {
    /// Accepts the rank.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn accept(&self, stream: &TcpStream, secret: &Secret, deadline: Instant) -> io::Result<()> {
        self.answer(stream, secret, deadline, ACCEPTED, "")
    }

    /// Refuses the rank, and waits until the other side has read that.
    pub fn refuse(&self, stream: &TcpStream, secret: &Secret, deadline: Instant, reason: &str) {
        if self.answer(stream, secret, deadline, REFUSED, reason).is_ok() {
            drain(stream, deadline);
        }
    }

    fn answer(
        &self,
        stream: &TcpStream,
        secret: &Secret,
        deadline: Instant,
        verdict: u8,
        text: &str,
    ) -> io::Result<()> {
        let text = clamped(text, LONGEST_VERDICT).as_bytes();
        let proof = secret.prove(Side::Server, &self.nonces, &message(verdict, text));
        let answer = [[verdict].as_slice(), &(text.len() as u32).to_le_bytes(), text, &proof].concat();
        Timed { stream, deadline }.write_all(&answer)
    }
}

/// What the verdict's proof covers.
fn message(verdict: u8, text: &[u8]) -> Vec<u8> {
    [[verdict].as_slice(), text].concat()
}

fn read<const N: usize>(timed: &mut Timed<'_>) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    timed.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads bytes behind their length.
fn text(timed: &mut Timed<'_>, longest: usize) -> io::Result<Vec<u8>> {
    let length = u32::from_le_bytes(read(timed)?);
    let length = usize::try_from(length).ok().filter(|length| *length <= longest);
    let mut bytes = vec![0; length.ok_or(io::ErrorKind::InvalidData)?];
    timed.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads until the other side closes the connection: closed before, it could lose the last answer.
fn drain(stream: &TcpStream, deadline: Instant) {
    // An error means that the connection is closed already.
    let _ = stream.shutdown(Shutdown::Write);
    let mut timed = Timed { stream, deadline };
    while timed.read(&mut [0; 256]).is_ok_and(|length| length > 0) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(30)
    }

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let client = TcpStream::connect(listener.local_addr().expect("an address")).expect("a listener");
        (client, listener.accept().expect("a connection").0)
    }

    /// Both sides' results; rank 0 has the verdict `reason`.
    fn shake(theirs: &str, ours: &str, reason: Option<&str>) -> (Result<(), Refusal>, Result<Applicant, String>) {
        let (client, server) = pair();
        let (theirs, ours) = (Secret::new(Some(theirs.as_bytes())), Secret::new(Some(ours.as_bytes())));
        let hello = Hello { host: "node7 4711".to_owned(), ..Hello::default() };
        let rank = thread::spawn(move || apply(&client, &theirs, (3, 8), &hello, Duration::from_secs(30), soon()));
        let applicant = receive(&server, &ours, soon());
        if let Ok(applicant) = &applicant {
            match reason {
                None => applicant.accept(&server, &ours, soon()).expect("a reader"),
                Some(reason) => applicant.refuse(&server, &ours, soon(), reason),
            }
        }
        (rank.join().expect("no panic"), applicant)
    }

    #[test]
    fn equal_secrets_are_accepted() {
        let (rank, applicant) = shake("one", "one", None);
        assert_eq!(rank, Ok(()));
        let applicant = applicant.expect("accepted");
        assert_eq!((applicant.rank, applicant.size, applicant.hello.host.as_str()), (3, 8, "node7 4711"));
    }

    #[test]
    fn other_secrets_are_refused() {
        let (rank, applicant) = shake("one", "two", None);
        assert_eq!(rank, Err(Refusal::SecretDiffers));
        assert_eq!(applicant.err().as_deref(), Some("its secret differs"));
    }

    #[test]
    fn reasons_arrive() {
        assert_eq!(shake("one", "one", Some("no seat")).0, Err(Refusal::Refused("no seat".to_owned())));
    }

    /// A server that accepts all ranks does not hold the secret, and cannot prove that it does.
    #[test]
    fn an_impostor_is_recognised() {
        let (client, server) = pair();
        let secret = Secret::new(Some(b"one"));
        let rank =
            thread::spawn(move || apply(&client, &secret, (3, 8), &Hello::default(), Duration::from_secs(30), soon()));
        let mut timed = Timed { stream: &server, deadline: soon() };
        let _: [u8; 40] = read(&mut timed).expect("a nonce");
        timed.write_all(&[MAGIC.as_slice(), &[0; 32]].concat()).expect("a reader");
        timed.write_all(&[[ACCEPTED].as_slice(), &[0; 4], &[0; 32]].concat()).expect("a reader");
        assert_eq!(rank.join().expect("no panic"), Err(Refusal::Unproven));
    }

    #[test]
    fn bytes_of_strangers_end_the_handshake() {
        let secret = Secret::new(None);
        let huge = [MAGIC.as_slice(), &[7; 32], &u32::MAX.to_le_bytes()].concat();
        for bytes in [b"GET / HTTP/1.1\r\n\r\n".as_slice(), b"", b"rwgr", &MAGIC, &huge] {
            let (client, server) = pair();
            (&client).write_all(bytes).expect("a reader");
            client.shutdown(Shutdown::Write).expect("a connection");
            let error = receive(&server, &secret, soon()).expect_err("a stranger");
            assert!(error.contains("did not send"), "{error}");
        }
        let (_silent, server) = pair();
        let deadline = Instant::now() + Duration::from_millis(20);
        assert!(receive(&server, &secret, deadline).is_err());
    }
}
