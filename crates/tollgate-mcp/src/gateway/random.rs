//! Names nobody can guess.

use ring::rand::{SecureRandom as _, SystemRandom};

/// 128 random bits as text. Where the machine gives none, the program cannot go on safely and ends this request.
pub(crate) fn id() -> String {
    let mut bytes = [0_u8; 16];
    #[expect(clippy::expect_used, reason = "a guessable session is worse than a request that fails")]
    SystemRandom::new().fill(&mut bytes).expect("the machine gives random numbers");
    tollgate::outcome::hex(&bytes)
}
