use crate::{Entry, Place, RunTrace, Store, Unreadable, book::Tally};

#[tokio::test]
async fn a_record_that_cannot_be_read_is_told_by_the_trace_and_by_the_chain() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(Place::folder(folder.path().join("home"))).expect("opens");
    let body = b"{\"r\":\"stopped\",\"at\":1,\"by\":\"done\"}\n{\"r\":\"call\",\"at\":2,\"a\":{\"id\n";
    let written = store.write(move |tx| {
        tx.write("r", body, 2, Tally::default());
        Ok(())
    });
    written.await.expect("writes");
    let entries = store.journal("r", 0).expect("reads");
    let records: Vec<_> = entries.iter().flat_map(Entry::records).collect();
    assert!(matches!(&records[0], Ok(line) if line.r == "stopped"), "{records:?}");
    assert_eq!(records[1].as_ref().err(), Some(&Unreadable(b"{\"r\":\"call\",\"at\":2,\"a\":{\"id")));
    let tree = RunTrace::of("r", &entries);
    assert_eq!((tree.unreadable, tree.calls.len(), tree.stopped.as_deref()), (1, 0, Some("done")));
    let report = store.verify().expect("reads");
    assert!(report.is_whole() && !report.is_readable(), "{report:?}");
    assert_eq!((report.records, report.unreadable, report.first_unreadable), (2, 1, Some(entries[0].seq)));
    store.close();
}
