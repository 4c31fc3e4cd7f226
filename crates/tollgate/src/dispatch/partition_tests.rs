use super::partition::partition;
use crate::tool::Concurrency;

const R: Concurrency = Concurrency::ReadOnly;
const W: Concurrency = Concurrency::WriteExclusive;
const U: Concurrency = Concurrency::Unsafe;

type Case<'a> = (&'a [Option<Concurrency>], &'a [&'a [usize]]);

fn batches(classes: &[Option<Concurrency>]) -> Vec<Vec<usize>> {
    partition(classes).into_iter().map(Iterator::collect).collect()
}

#[test]
fn a_run_of_reads_is_one_batch_and_anything_else_stands_alone() {
    let cases: &[Case<'_>] = &[
        (&[], &[]),
        (&[Some(R)], &[&[0]]),
        (&[Some(R), Some(R), Some(R)], &[&[0, 1, 2]]),
        (&[Some(W), Some(W)], &[&[0], &[1]]),
        (&[Some(R), Some(W), Some(R)], &[&[0], &[1], &[2]]),
        (&[Some(R), Some(R), Some(U), Some(R), Some(R)], &[&[0, 1], &[2], &[3, 4]]),
        (&[Some(R), None, Some(R)], &[&[0], &[1], &[2]]),
        (&[None, Some(R), Some(R)], &[&[0], &[1, 2]]),
    ];
    for (classes, expected) in cases {
        assert_eq!(batches(classes), *expected, "{classes:?}");
    }
}
