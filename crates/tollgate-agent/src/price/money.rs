//! An amount of money, exact to the billionth of a dollar.

use std::{fmt, iter::Sum, ops::AddAssign};

use serde::{Deserialize, Serialize};

/// US dollars, counted in billionths so that a single token's price is a whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(u64);

const NANOS: u64 = 1_000_000_000;

impl Money {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// An amount in billionths of a dollar.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// An amount in dollars; `None` where it is negative, or no number.
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        let nanos = dollars * 1e9;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range was looked at"
        )]
        (nanos.is_finite() && (0.0..1.8e19).contains(&nanos)).then(|| Self(nanos.round() as u64))
    }

    /// In billionths of a dollar.
    pub const fn nanos(self) -> u64 {
        self.0
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, more: Self) {
        self.0 = self.0.saturating_add(more.0);
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, |mut total, amount| {
            total += amount;
            total
        })
    }
}

/// Two digits after the point, or as many as a small amount needs for two that say something.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = match self.0 {
            0 | 100_000_000.. => 2,
            10_000_000.. => 3,
            _ => 4,
        };
        let unit = 10_u64.pow(9 - digits);
        // Rounded up: what cost something is never shown as nothing.
        let units = self.0.div_ceil(unit);
        let per_dollar = NANOS / unit;
        write!(f, "${}.{:0width$}", units / per_dollar, units % per_dollar, width = digits as usize)
    }
}
