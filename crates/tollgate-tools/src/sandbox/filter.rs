//! A seccomp program that finds the answer to a system call by halving.
//!
//! The kernel walks a new filter once for every call number it knows. Asked one number after the other, a list of a
//! hundred took a third of the time of a whole shell; halved, it takes nothing to speak of.

use std::{collections::BTreeMap, io};

use seccompiler::{BpfProgram, sock_filter};

/// What the kernel says to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// This error.
    Errno(i32),
    /// It depends on the first argument: this error where the look fails.
    Look(Look, i32),
}

/// A look at the first argument of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// None of these bits is set.
    NoneOf(u32),
    /// It is one of these numbers.
    OneOf(&'static [i32]),
}

// Offsets in what the kernel shows of a call; the lower half of the first argument, on machines that begin with it.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST: u32 = 16;

// Instructions: load a word, compare and jump, answer.
const LOAD: u16 = 0x20;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const IF_ANY_BIT: u16 = 0x45;
const ANSWER: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
const ERRNO: u32 = 0x0005_0000;
const KILL: u32 = 0x8000_0000;

#[cfg(target_arch = "x86_64")]
const OURS: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const OURS: Option<u32> = Some(0xc000_00b7);
#[cfg(target_arch = "riscv64")]
const OURS: Option<u32> = Some(0xc000_00f3);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const OURS: Option<u32> = None;

/// From this number on the same processor has a second table of the same calls; nothing needs it.
#[cfg(target_arch = "x86_64")]
const SECOND_TABLE: Option<u32> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const SECOND_TABLE: Option<u32> = None;

/// The program: these calls get these answers, every other one is let through, and a call in the tongue of another
/// processor ends the process.
pub(super) fn program(answers: &BTreeMap<i64, Answer>) -> io::Result<BpfProgram> {
    let ours = OURS.ok_or_else(|| io::Error::other("no filter is known for this processor"))?;
    let mut program = vec![
        step(LOAD, 0, 0, ARCHITECTURE),
        step(IF_EQUAL, 1, 0, ours),
        step(ANSWER, 0, 0, KILL),
        step(LOAD, 0, 0, NUMBER),
    ];
    program.extend(half(&stretches(answers)?)?);
    Ok(program)
}

/// Where a stretch of numbers with the same answer begins; `None` lets through.
type Stretch = (u32, Option<Answer>);

fn stretches(answers: &BTreeMap<i64, Answer>) -> io::Result<Vec<Stretch>> {
    let mut all: Vec<Stretch> = vec![(0, None)];
    let mut begin = |at: u32, answer: Option<Answer>| {
        all.retain(|(start, _)| *start != at);
        if all.last().is_none_or(|(_, last)| *last != answer) {
            all.push((at, answer));
        }
    };
    for (call, answer) in answers {
        let call = u32::try_from(*call).map_err(io::Error::other)?;
        begin(call, Some(*answer));
        begin(call + 1, None);
    }
    if let Some(second) = SECOND_TABLE {
        begin(second, Some(Answer::Errno(libc::ENOSYS)));
    }
    Ok(all)
}

/// The steps that find the stretch a number lies in, and answer.
fn half(stretches: &[Stretch]) -> io::Result<BpfProgram> {
    let (lower, upper) = match stretches {
        [] => return Ok(vec![step(ANSWER, 0, 0, ALLOW)]),
        [(_, answer)] => return Ok(leaf(*answer)),
        more => more.split_at(more.len() / 2),
    };
    let from = upper.first().map_or(0, |(start, _)| *start);
    let (lower, upper) = (half(lower)?, half(upper)?);
    let over = u8::try_from(lower.len()).map_err(|_| io::Error::other("the filter is too long"))?;
    let mut steps = vec![step(IF_AT_LEAST, over, 0, from)];
    steps.extend(lower);
    steps.extend(upper);
    Ok(steps)
}

fn leaf(answer: Option<Answer>) -> BpfProgram {
    let error = |number: i32| step(ANSWER, 0, 0, ERRNO | (number.cast_unsigned() & 0xffff));
    let allow = step(ANSWER, 0, 0, ALLOW);
    match answer {
        None => vec![allow],
        Some(Answer::Errno(number)) => vec![error(number)],
        Some(Answer::Look(Look::NoneOf(bits), number)) => {
            vec![step(LOAD, 0, 0, FIRST), step(IF_ANY_BIT, 0, 1, bits), error(number), allow]
        }
        Some(Answer::Look(Look::OneOf(values), number)) => {
            let mut steps = vec![step(LOAD, 0, 0, FIRST)];
            for value in values {
                steps.extend([step(IF_EQUAL, 0, 1, value.cast_unsigned()), allow.clone()]);
            }
            steps.push(error(number));
            steps
        }
    }
}

const fn step(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What the kernel does with a program, for the few instructions there are.
    fn run(program: &[sock_filter], number: u32, first: u32, architecture: u32) -> u32 {
        let (mut at, mut loaded) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at].clone();
            at += 1;
            let jump = |holds: bool| usize::from(if holds { jt } else { jf });
            match code {
                LOAD => {
                    loaded = [(NUMBER, number), (ARCHITECTURE, architecture), (FIRST, first)]
                        .into_iter()
                        .find_map(|(offset, value)| (offset == k).then_some(value))
                        .unwrap();
                }
                IF_EQUAL => at += jump(loaded == k),
                IF_AT_LEAST => at += jump(loaded >= k),
                IF_ANY_BIT => at += jump(loaded & k != 0),
                ANSWER => return k,
                other => panic!("no such instruction: {other}"),
            }
        }
    }

    fn expected(answers: &BTreeMap<i64, Answer>, number: u32, first: u32) -> u32 {
        let error = |number: i32| ERRNO | number.cast_unsigned();
        if SECOND_TABLE.is_some_and(|second| number >= second) {
            return error(libc::ENOSYS);
        }
        match answers.get(&i64::from(number)) {
            None => ALLOW,
            Some(Answer::Errno(number)) => error(*number),
            Some(Answer::Look(Look::NoneOf(bits), number)) => {
                if first & bits == 0 {
                    ALLOW
                } else {
                    error(*number)
                }
            }
            Some(Answer::Look(Look::OneOf(values), number)) => {
                if values.contains(&first.cast_signed()) {
                    ALLOW
                } else {
                    error(*number)
                }
            }
        }
    }

    fn answer() -> impl Strategy<Value = Answer> {
        prop_oneof![
            Just(Answer::Errno(libc::EPERM)),
            Just(Answer::Errno(libc::ENOSYS)),
            any::<u32>().prop_map(|bits| Answer::Look(Look::NoneOf(bits), libc::EPERM)),
            Just(Answer::Look(Look::OneOf(&[2, 10, 16]), libc::EPERM)),
        ]
    }

    proptest! {
        #[test]
        fn every_call_gets_its_own_answer_and_no_other(
            answers in proptest::collection::btree_map(0..500_i64, answer(), 0..60),
            first in prop_oneof![Just(2_u32), Just(16), any::<u32>()],
        ) {
            let program = program(&answers).unwrap();
            for number in (0..501).chain([0x3fff_ffff, 0x4000_0000, 0x4000_0029, u32::MAX]) {
                let said = run(&program, number, first, OURS.unwrap());
                prop_assert_eq!(said, expected(&answers, number, first), "call {}", number);
            }
            prop_assert_eq!(run(&program, 1, first, 0x4000_0003), KILL);
        }
    }
}
