//! How the time between two readings of the clock divides among the steps in between.
//!
//! A tick takes a third of what reading the clock does, and means nothing by itself: how long ticks are, or whether
//! they are even, is not relied on. The clock is read where steps are handed over; what a tick says is only where in
//! between a step ended, and it cannot say more than that.

use std::time::Instant;

/// A point in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tick(u64);

impl Tick {
    pub(super) const ZERO: Self = Self(0);

    /// Now, in ticks after a call that began at `first`.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(super) fn since(first: u64, _: Instant) -> Self {
        Self(safe_arch::read_timestamp_counter().saturating_sub(first))
    }

    /// Where there are none, the clock's own nanoseconds.
    #[cfg(not(target_arch = "x86_64"))]
    pub(super) fn since(_: u64, began: Instant) -> Self {
        Self(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// What a call counts from.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn first() -> u64 {
        safe_arch::read_timestamp_counter()
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(super) fn first() -> u64 {
        0
    }

    pub(super) fn of(ticks: u64) -> Self {
        Self(ticks)
    }

    pub(super) fn count(self) -> u64 {
        self.0
    }
}

/// A point that is known both ways: in ticks, and in nanoseconds of the clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Anchor {
    pub(super) tick: Tick,
    pub(super) nanos: u64,
}

impl Anchor {
    pub(super) const BEGIN: Self = Self { tick: Tick::ZERO, nanos: 0 };

    /// The time of a tick between this point and a later one; never outside of them, whatever the ticks say.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a span, kept within it"
    )]
    pub(super) fn until(self, end: Self) -> impl Fn(Tick) -> u64 {
        let ticks = end.tick.0.saturating_sub(self.tick.0).max(1);
        let each = end.nanos.saturating_sub(self.nanos) as f64 / ticks as f64;
        move |tick| {
            let after = tick.0.saturating_sub(self.tick.0) as f64 * each;
            if tick.0 >= end.tick.0 { end.nanos } else { end.nanos.min(self.nanos + after as u64) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(tick: u64, nanos: u64) -> Anchor {
        Anchor { tick: Tick(tick), nanos }
    }

    #[test]
    fn a_step_stands_where_its_tick_does_between_two_readings_of_the_clock() {
        let time = at(100, 1_000).until(at(400, 1_100));
        assert_eq!([100, 190, 250, 400].map(|tick| time(Tick(tick))), [1_000, 1_030, 1_050, 1_100]);
    }

    #[test]
    fn ticks_that_jump_or_stand_still_say_nothing_outside_of_what_the_clock_said() {
        for (begin, end) in [(at(100, 1_000), at(100, 1_100)), (at(400, 1_000), at(100, 1_100))] {
            for tick in [0, 100, 250, 400, u64::MAX] {
                let time = begin.until(end)(Tick(tick));
                assert!((1_000..=1_100).contains(&time), "{tick}: {time}");
            }
        }
    }

    #[test]
    fn a_share_of_a_day_is_right_to_the_microsecond() {
        let day = 86_400_000_000_000;
        let time = Anchor::BEGIN.until(at(3 * day, day));
        assert!(time(Tick(day)).abs_diff(day / 3) < 1_000);
    }
}
