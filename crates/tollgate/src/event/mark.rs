//! A step in eight bytes: what happened, and at which tick after the call began.

use super::{Progress, What, ticks::Tick};
use crate::{
    outcome::{Phase, Status},
    tool::Concurrency,
};

/// A step that needs no words of its own, or the place of one that does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark(u64);

/// From the lowest bit: the ticks since the call began (a day of them), what happened, and what belongs to it.
const TIME: u32 = 48;
const KIND: u32 = 4;
const LONGEST: u64 = (1 << TIME) - 1;
/// As often as a body is tried and still told in a mark.
const MOST_ATTEMPTS: u32 = 15;

const LISTED: u64 = 0;
const PROPOSED: u64 = 1;
const RESOLVED: u64 = 2;
const VALIDATED: u64 = 3;
const CHECKED: u64 = 4;
const PREPARED: u64 = 5;
const PERMITTED: u64 = 6;
const STARTED: u64 = 7;
const BEGINS: u64 = 8;
const ENDS: u64 = 9;
const EXECUTED: u64 = 10;
const AFTER: u64 = 11;
const SETTLED: u64 = 12;
const BEGUN: u64 = 13;
const ENDED_WELL: u64 = 14;
const WAITED: u64 = 15;

/// What a mark stands for.
pub(super) enum Meaning {
    Step(What),
    /// Two that come together.
    Two(What, What),
    /// Permitted, by the words that were handed over with it.
    Permitted,
    /// Time that belongs to no step.
    Waited,
    /// The next step of those that were handed over as they are.
    Listed,
}

impl Mark {
    /// The first step of every call.
    pub(super) const PROPOSED: Self = Self(PROPOSED << TIME);

    /// The call is permitted, by what is handed over with it.
    pub(super) const PERMITTED: Self = Self(PERMITTED << TIME);

    /// The body begins, for the first time, and is nowhere yet.
    pub(super) const BEGUN: Self = Self(BEGUN << TIME);

    /// The body is at its end, which is a good one.
    pub(super) const ENDED_WELL: Self = Self(ENDED_WELL << TIME);

    /// The call waited for its turn among others: nothing happened.
    pub(super) const WAITED: Self = Self(WAITED << TIME);

    /// A step that is handed over as it is.
    pub(super) const LISTED: Self = Self(LISTED << TIME);

    /// A step in eight bytes; `None` where it has words of its own.
    #[expect(clippy::inline_always, reason = "what happened is known where it is noted")]
    #[inline(always)]
    pub(super) fn of(what: &What) -> Option<Self> {
        let (kind, more) = match what {
            What::Proposed => (PROPOSED, 0),
            What::Resolved => (RESOLVED, 0),
            What::Validated { concurrency } => (VALIDATED, *concurrency as u64),
            What::Checked => (CHECKED, 0),
            What::Prepared => (PREPARED, 0),
            What::Started { attempt } if *attempt <= MOST_ATTEMPTS => (STARTED, u64::from(*attempt)),
            What::Progress(Progress { fraction, message }) if message.is_empty() => {
                let bounds = [(0.0_f32, BEGINS), (1.0, ENDS)];
                let kind = bounds.iter().find(|(bound, _)| bound.to_bits() == fraction.to_bits())?.1;
                (kind, 0)
            }
            What::Executed { status, chain } if chain.is_empty() => (EXECUTED, *status as u64),
            What::After => (AFTER, 0),
            What::Settled { status, phase, code: None, attempts, was_concurrent }
                if *attempts <= MOST_ATTEMPTS =>
            {
                let more = *status as u64
                    | (*phase as u64) << 3
                    | u64::from(*was_concurrent) << 6
                    | u64::from(*attempts) << 7;
                (SETTLED, more)
            }
            _ => return None,
        };
        Some(Self(more << (TIME + KIND) | kind << TIME))
    }

    /// The same step, noted at this tick.
    pub(super) fn at(self, tick: Tick) -> Self {
        Self(self.0 | tick.count().min(LONGEST))
    }

    /// When it was noted.
    pub(super) fn tick(self) -> Tick {
        Tick::of(self.0 & LONGEST)
    }

    /// What it stands for.
    pub(super) fn meaning(self) -> Meaning {
        let more = self.0 >> (TIME + KIND);
        #[expect(clippy::cast_possible_truncation, reason = "it was made of so few bits")]
        let attempts = |more: u64| more as u32 & MOST_ATTEMPTS;
        Meaning::Step(match self.0 >> TIME & ((1 << KIND) - 1) {
            PROPOSED => What::Proposed,
            RESOLVED => What::Resolved,
            VALIDATED => What::Validated { concurrency: pick(more, &CLASSES) },
            CHECKED => What::Checked,
            PREPARED => What::Prepared,
            PERMITTED => return Meaning::Permitted,
            STARTED => What::Started { attempt: attempts(more) },
            BEGINS => What::begins_or_ends(0.0),
            ENDS => What::begins_or_ends(1.0),
            EXECUTED => What::Executed { status: pick(more, &STATUSES), chain: Box::default() },
            AFTER => What::After,
            SETTLED => What::Settled {
                status: pick(more & 7, &STATUSES),
                phase: pick(more >> 3 & 7, &PHASES),
                code: None,
                attempts: attempts(more >> 7),
                was_concurrent: more >> 6 & 1 == 1,
            },
            WAITED => return Meaning::Waited,
            BEGUN => return Meaning::Two(What::Started { attempt: 1 }, What::begins_or_ends(0.0)),
            ENDED_WELL => {
                let executed = What::Executed { status: Status::Ok, chain: Box::default() };
                return Meaning::Two(What::begins_or_ends(1.0), executed);
            }
            _ => return Meaning::Listed,
        })
    }
}

/// In the order they are declared: a mark holds their number.
const CLASSES: [Concurrency; 3] = [Concurrency::ReadOnly, Concurrency::WriteExclusive, Concurrency::Unsafe];
const STATUSES: [Status; 5] =
    [Status::Ok, Status::Refused, Status::RetryableError, Status::FatalError, Status::Unknown];
const PHASES: [Phase; 8] = [
    Phase::Resolve,
    Phase::Validate,
    Phase::Check,
    Phase::Before,
    Phase::Permit,
    Phase::Execute,
    Phase::After,
    Phase::Settle,
];

/// The worst of them where the number is none of theirs.
fn pick<T: Copy, const N: usize>(number: u64, all: &[T; N]) -> T {
    let at = usize::try_from(number).unwrap_or(N);
    all[at.min(N - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(what: &What) -> Option<What> {
        match Mark::of(what)?.at(Tick::of(7)).meaning() {
            Meaning::Step(what) => Some(what),
            Meaning::Permitted | Meaning::Waited | Meaning::Listed | Meaning::Two(..) => None,
        }
    }

    #[test]
    fn a_step_comes_back_from_its_mark_as_it_was() {
        let mut steps = vec![
            What::Proposed,
            What::Resolved,
            What::Checked,
            What::Prepared,
            What::Started { attempt: 3 },
            What::begins_or_ends(0.0),
            What::begins_or_ends(1.0),
            What::After,
        ];
        steps.extend(CLASSES.map(|concurrency| What::Validated { concurrency }));
        steps.extend(STATUSES.map(|status| What::Executed { status, chain: Box::default() }));
        for (status, phase) in STATUSES.iter().flat_map(|status| PHASES.map(|phase| (*status, phase))) {
            for (attempts, was_concurrent) in [(0, false), (1, true), (15, false)] {
                steps.push(What::Settled { status, phase, code: None, attempts, was_concurrent });
            }
        }
        for step in steps {
            assert_eq!(again(&step).as_ref(), Some(&step));
        }
    }

    #[test]
    fn what_has_words_of_its_own_is_not_made_a_mark() {
        let progress =
            |fraction, message: &str| What::Progress(Progress { fraction, message: message.into() });
        for what in [
            What::Started { attempt: 16 },
            progress(0.5, ""),
            progress(1.0, "nearly"),
            What::Executed { status: Status::Unknown, chain: ["lost".to_owned()].into() },
            What::Fault { message: "no".into() },
            What::Rewritten { round: 1 },
        ] {
            assert!(Mark::of(&what).is_none(), "{what:?}");
        }
    }

    #[test]
    fn a_time_that_is_longer_than_any_call_does_not_change_what_happened() {
        let mark = Mark::of(&What::Checked).expect("a mark").at(Tick::of(u64::MAX));
        assert!(matches!(mark.meaning(), Meaning::Step(What::Checked)));
        assert_eq!(mark.tick(), Tick::of(LONGEST));
    }
}
