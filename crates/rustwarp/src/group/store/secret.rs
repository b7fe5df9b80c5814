//! Proofs that both sides of a connection hold the group's secret.

use crate::error::{Error, Result};
use hmac::digest::Key;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// Random bytes that are used for one connection.
pub type Nonce = [u8; 32];
/// HMAC-SHA256 over the side, both nonces and a message.
pub type Proof = [u8; 32];

/// Makes the nonce of one side.
///
/// # Errors
/// [`Error::Group`] if the operating system has no random bytes.
pub fn nonce() -> Result<Nonce> {
    let mut nonce = Nonce::default();
    getrandom::fill(&mut nonce)
        .map_err(|error| Error::Group(format!("cannot get random bytes for the handshake: {error}")))?;
    Ok(nonce)
}

/// The side that proves. Without it, a proof could be sent back as the other side's.
#[derive(Clone, Copy, Debug)]
pub enum Side {
    /// A rank that joins.
    Client,
    /// Rank 0.
    Server,
}

/// The nonces of both sides of a connection, the client's first.
#[derive(Clone, Copy, Debug)]
pub struct Nonces(pub Nonce, pub Nonce);

/// The group's secret, as the key of the proofs.
#[derive(Clone)]
pub struct Secret(Key<Hmac<Sha256>>);

impl Secret {
    /// The key for a text; no text is equivalent to an empty one.
    pub fn new(text: Option<&[u8]>) -> Self {
        let mut key = Key::<Hmac<Sha256>>::default();
        let digest = Sha256::digest(text.unwrap_or_default());
        key[..digest.len()].copy_from_slice(&digest);
        Self(key)
    }

    /// Proves that this side holds the secret and has sent the message.
    pub fn prove(&self, side: Side, nonces: &Nonces, message: &[u8]) -> Proof {
        self.mac(side, nonces, message).finalize().into_bytes().into()
    }

    /// Whether the other side's proof is right, in a time that does not depend on its bytes.
    pub fn verify(&self, side: Side, nonces: &Nonces, message: &[u8], proof: &Proof) -> bool {
        self.mac(side, nonces, message).verify_slice(proof).is_ok()
    }

    fn mac(&self, side: Side, nonces: &Nonces, message: &[u8]) -> Hmac<Sha256> {
        let side: &[u8; 8] = match side {
            Side::Client => b"client  ",
            Side::Server => b"server  ",
        };
        Hmac::new(&self.0).chain_update(side).chain_update(nonces.0).chain_update(nonces.1).chain_update(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proof_depends_on_secret_side_nonces_and_message() {
        let (secret, other) = (Secret::new(Some(b"one")), Secret::new(Some(b"two")));
        let nonces = Nonces([1; 32], [2; 32]);
        let proof = secret.prove(Side::Client, &nonces, b"text");
        assert!(secret.verify(Side::Client, &nonces, b"text", &proof));
        assert!(!other.verify(Side::Client, &nonces, b"text", &proof));
        assert!(!secret.verify(Side::Server, &nonces, b"text", &proof));
        assert!(!secret.verify(Side::Client, &Nonces([2; 32], [1; 32]), b"text", &proof));
        assert!(!secret.verify(Side::Client, &nonces, b"texts", &proof));
        assert!(!Secret::new(None).verify(Side::Client, &nonces, b"text", &proof));
    }

    #[test]
    fn nonces_differ() {
        assert_ne!(nonce().expect("random bytes"), nonce().expect("random bytes"));
    }
}
