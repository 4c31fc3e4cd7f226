//! Budgets in the store: every process of a run counts into the same purse, and a resumed run goes on with it.

use std::time::Duration;

use serde::Serialize;
use tollgate::{
    BoxFuture,
    guard::{Budget, LedgerFault, PurseBook, Reserved, Spent},
    tool::RunId,
};

use crate::{LazyStore, Store, StoreError, book::Tx, clean, db::Param, writer::Queue};

/// What one run has spent, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RunSpent {
    /// The run.
    pub run: String,
    /// What it has spent, in every process.
    pub spent: Spent,
}

/// The row of a run that stands for all its tools.
const WHOLE: &str = "";

impl PurseBook for Store {
    fn reserve<'a>(
        &'a self,
        run: &'a RunId,
        tool: &'a str,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Reserved, LedgerFault>> {
        let (run, tool, budget) = (clean(run.as_str()), clean(tool), budget.clone());
        Box::pin(async move {
            // Not synced of its own: the durable start that follows takes it along, and a read has no effect to lose.
            let (of_run, of_tool) = (run.clone(), tool.clone());
            let back = move |reserved, queue: &Queue| {
                if let Reserved::Counted(_) = reserved {
                    give_back(queue, of_run, of_tool);
                }
            };
            let reserved = self.write_lazily_or_back(move |tx| reserve(tx, &run, &tool, &budget), back);
            reserved.await.map_err(fault)
        })
    }

    fn spent<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Spent, LedgerFault>> {
        let run = clean(run.as_str());
        Box::pin(async move { self.write_lazily(move |tx| spent(tx, &run)).await.map_err(fault) })
    }

    fn add(&self, run: &RunId, more: &Spent) {
        let (run, more) = (clean(run.as_str()), more.clone());
        self.hand_over(move |tx| count(tx, &run, WHOLE, &Row::of(&more)));
    }

    fn give_back(&self, run: &RunId, tool: &str) {
        give_back(&self.inner.desk.queue, clean(run.as_str()), clean(tool));
    }
}

impl PurseBook for LazyStore {
    fn reserve<'a>(
        &'a self,
        run: &'a RunId,
        tool: &'a str,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Reserved, LedgerFault>> {
        match self.ready() {
            Ok(store) => store.reserve(run, tool, budget),
            Err(fault) => Box::pin(std::future::ready(Err(fault))),
        }
    }

    fn spent<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Spent, LedgerFault>> {
        match self.ready() {
            Ok(store) => PurseBook::spent(store, run),
            Err(fault) => Box::pin(std::future::ready(Err(fault))),
        }
    }

    fn add(&self, run: &RunId, more: &Spent) {
        if let Ok(store) = self.get() {
            store.add(run, more);
        }
    }

    fn give_back(&self, run: &RunId, tool: &str) {
        if let Ok(store) = self.get() {
            store.give_back(run, tool);
        }
    }
}

impl Store {
    /// What runs have spent, as far as it was counted; one run, or all of them.
    pub fn spending(&self, run: Option<&str>) -> Result<Vec<RunSpent>, StoreError> {
        let named = run.unwrap_or_default();
        let all = i64::from(run.is_none());
        let rows = self.read(|db| {
            db.query(
                "SELECT run, tool, calls, micros, tokens, money FROM spent WHERE run = $1 OR $2 = 1
                 ORDER BY run, tool",
                &[Param::Text(named), Param::Int(all)],
            )
        })?;
        let mut runs: Vec<RunSpent> = Vec::new();
        for row in &rows {
            let run = row.text(0)?;
            if runs.last().is_none_or(|last| last.run != run) {
                runs.push(RunSpent { run: run.to_owned(), spent: Spent::default() });
            }
            if let Some(last) = runs.last_mut() {
                take(&mut last.spent, row)?;
            }
        }
        Ok(runs)
    }

    /// Forgets what a run has spent: its whole budget is there again. Says whether anything was counted.
    pub fn reset_spending(&self, run: &str) -> Result<bool, StoreError> {
        let run = run.to_owned();
        self.write_blocking(move |tx| {
            Ok(tx.db().execute("DELETE FROM spent WHERE run = $1", &[Param::Text(&run)])? > 0)
        })
    }
}

#[derive(Default)]
struct Row {
    calls: i64,
    micros: i64,
    tokens: i64,
    money: i64,
}

impl Row {
    fn of(spent: &Spent) -> Self {
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        Self {
            calls: signed(spent.calls),
            micros: i64::try_from(spent.tool_time.as_micros()).unwrap_or(i64::MAX),
            tokens: signed(spent.tokens),
            money: signed(spent.microdollars),
        }
    }
}

/// Looked and counted in the same transaction: two processes never both take the last one.
fn reserve(tx: &mut Tx<'_>, run: &str, tool: &str, budget: &Budget) -> Result<Reserved, StoreError> {
    let mut now = spent(tx, run)?;
    if budget.refusal(&now, tool).is_some() {
        return Ok(Reserved::Full(now));
    }
    let one = Row { calls: 1, ..Row::default() };
    count(tx, run, WHOLE, &one)?;
    now.calls += 1;
    if budget.calls_of.contains_key(tool) {
        count(tx, run, tool, &one)?;
        *now.calls_of.entry(tool.to_owned()).or_default() += 1;
    }
    crate::failpoint::hit("reserved");
    Ok(Reserved::Counted(now))
}

/// A call that was counted never started.
fn give_back(queue: &Queue, run: String, tool: String) {
    queue.hand_over(move |tx| {
        let back = Row { calls: -1, ..Row::default() };
        count(tx, &run, WHOLE, &back)?;
        count(tx, &run, &tool, &back)
    });
}

fn spent(tx: &mut Tx<'_>, run: &str) -> Result<Spent, StoreError> {
    let rows = tx.db().query(
        "SELECT run, tool, calls, micros, tokens, money FROM spent WHERE run = $1",
        &[Param::Text(run)],
    )?;
    let mut spent = Spent::default();
    rows.iter().try_for_each(|row| take(&mut spent, row))?;
    Ok(spent)
}

fn take(spent: &mut Spent, row: &crate::db::Row) -> Result<(), StoreError> {
    let counted = |at| row.int(at).map(|number| u64::try_from(number).unwrap_or(0));
    let tool = row.text(1)?;
    if tool == WHOLE {
        spent.calls = counted(2)?;
        spent.tool_time = Duration::from_micros(counted(3)?);
        spent.tokens = counted(4)?;
        spent.microdollars = counted(5)?;
    } else {
        spent.calls_of.insert(tool.to_owned(), counted(2)?);
    }
    Ok(())
}

fn count(tx: &mut Tx<'_>, run: &str, tool: &str, more: &Row) -> Result<(), StoreError> {
    // What is given back was counted before: a row that is not there has nothing to give.
    let numbers =
        [Param::Int(more.calls), Param::Int(more.micros), Param::Int(more.tokens), Param::Int(more.money)];
    let [calls, micros, tokens, money] = numbers;
    if more.calls < 0 {
        tx.db().execute(
            "UPDATE spent SET calls = calls + $1 WHERE run = $2 AND tool = $3 AND calls > 0",
            &[calls, Param::Text(run), Param::Text(tool)],
        )?;
        return Ok(());
    }
    tx.db().execute(
        "INSERT INTO spent (run, tool, calls, micros, tokens, money) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (run, tool) DO UPDATE SET calls = spent.calls + excluded.calls,
           micros = spent.micros + excluded.micros, tokens = spent.tokens + excluded.tokens,
           money = spent.money + excluded.money",
        &[Param::Text(run), Param::Text(tool), calls, micros, tokens, money],
    )?;
    Ok(())
}

fn fault(error: StoreError) -> LedgerFault {
    LedgerFault(Box::new(error))
}
