//! Guesses at passwords and codes. Wrong guesses count against the network they come from, so nobody can lock
//! out the owner of an account.

use crate::error::{Error, Result};
use crate::http::operation::Call;
use crate::rate_limits::RateLimit;
use crate::state::App;
use crate::values::ids::{ProjectId, UserId};

/// Wrong passwords for one account from one network, over all operations. The operations' own rate limits
/// cover all accounts together.
const WRONG_PASSWORDS: RateLimit = RateLimit::per_5_minutes(100)
    .window_minutes(60)
    .text("Too many wrong passwords, please try again later");
/// Wrong codes from anonymous callers of one network.
const WRONG_CODES: RateLimit = RateLimit::per_5_minutes(5);

/// A guess, counted as wrong until it is confirmed to be right.
#[derive(Debug)]
pub(super) struct Guess {
    app: App,
    project: ProjectId,
    window: &'static str,
    /// The network and the account or code that is guessed at. `None` for keys, which have no rate limits.
    client: Option<Vec<u8>>,
}

impl Guess {
    pub(super) fn at_password<A>(call: &Call<A>, user: UserId) -> Result<Self> {
        Self::count(call, WRONG_PASSWORDS, "wrong password", user.0.as_bytes())
    }

    pub(super) fn at_code<A>(call: &Call<A>) -> Result<Self> {
        Self::count(call, WRONG_CODES, "wrong code", &[])
    }

    fn count<A>(
        call: &Call<A>,
        rate: RateLimit,
        window: &'static str,
        target: &[u8],
    ) -> Result<Self> {
        let (app, project) = (call.app.clone(), call.project.id);
        let client = call.network().map(|network| [&network.to_be_bytes(), target].concat());
        if let Some(client) = &client {
            let now = app.clock.uptime();
            let counted = app.limiter.count(rate, window, Some(project), client, now);
            counted.map_err(Error::RateLimited)?;
        }
        Ok(Guess { app, project, window, client })
    }

    /// Refunds the guess unless it was wrong.
    pub(super) fn settle(self, outcome: &Result<bool>) {
        if let (Some(client), Ok(true) | Err(_)) = (&self.client, outcome) {
            self.app.limiter.uncount(self.window, Some(self.project), client);
        }
    }
}
