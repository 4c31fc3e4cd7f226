use super::*;
use crate::book::State;

fn proposal(id: i64) -> Op {
    Op::Propose { id, run: "r".to_owned(), caller: "main".to_owned(), line: vec![b'x'; 10_000] }
}

fn end(id: i64) -> Op {
    let (run, line) = ("r".to_owned(), vec![b'x'; 10_000]);
    let ending = Ending { id, run, state: State::Released, line, tally: Tally::default() };
    Op::End { ending, reply: None }
}

#[test]
fn what_nobody_waits_for_is_bounded_while_nothing_can_be_written_and_nothing_let_in_is_lost() {
    let queue = Queue::shared();
    let full = StoreError::Database("the disk is full".to_owned());
    queue.put_back(Vec::new(), &full);
    let (mut let_in, mut id) = (0, 0);
    // The writer takes everything, fails, and puts it back; meanwhile more is offered.
    for _ in 0..20 {
        let batch = queue.take(Instant::now(), Instant::now());
        while queue.offer(proposal(id)).is_ok() {
            (let_in, id) = (let_in + 1, id + 1);
        }
        queue.put_back(batch.map_or_else(Vec::new, |batch| batch.ops), &full);
    }
    assert!(
        matches!(queue.offer(end(id)), Err(StoreError::Stuck { why }) if why.contains("the disk is full"))
    );
    assert!((ROOM / 10_500..=ROOM / 10_000).contains(&let_in), "{let_in}");
    // The end of what took effect is let in whatever the room.
    queue.push(end(id)).expect("let in");
    let batch = queue.take(Instant::now(), Instant::now()).expect("a batch");
    assert_eq!(batch.ops.len(), let_in + 1);
    queue.mend();
    // Once writing works there is room again, and proposals are taken beyond it: they are on their way.
    for id in 0..2_000 {
        queue.offer(proposal(id)).expect("let in");
    }
}
