//! The calls of the run that are on screen: those that run, and those that wait for an earlier one to settle.

use std::{
    collections::HashSet,
    fmt::Write as _,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    about::{About, Mark},
    live::fitted,
    style::{Style, painted},
    width,
};
use crate::words::visible;

/// Which call: the agent it belongs to, its number and its id. Providers repeat ids.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) agent: Option<Arc<str>>,
    pub(crate) number: u32,
    pub(crate) id: Arc<str>,
}

/// One call.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) key: Key,
    /// How deep its agent is below the main one.
    pub(crate) depth: usize,
    pub(crate) title: String,
    state: State,
}

#[derive(Debug)]
enum State {
    Waits,
    Runs { since: Instant, fraction: f32, message: String },
    Settled { about: About, took: Duration },
}

/// Every call that is not shown for good, in the order they were proposed.
#[derive(Debug, Default)]
pub(crate) struct Calls(Vec<Line>);

/// How wide the window is, and whether there are colours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) columns: usize,
    pub(crate) colours: bool,
    /// False where there are rows without end, as in a file: nothing is cut.
    pub(crate) cuts: bool,
}

const SPINNER: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠇", "⠏", "⠛"];
const BEAT: Duration = Duration::from_millis(100);

impl Calls {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn propose(&mut self, key: Key, depth: usize, title: String) {
        if self.find(&key).is_none() {
            self.0.push(Line { key, depth, title, state: State::Waits });
        }
    }

    pub(crate) fn start(&mut self, key: &Key, now: Instant) {
        if let Some(line) = self.find(key)
            && matches!(line.state, State::Waits)
        {
            line.state = State::Runs { since: now, fraction: 0.0, message: String::new() };
        }
    }

    pub(crate) fn progress(&mut self, key: &Key, part: f32, said: &str) {
        if let Some(State::Runs { fraction, message, .. }) = self.find(key).map(|line| &mut line.state) {
            *fraction = part;
            if !said.is_empty() {
                *message = visible(said);
            }
        }
    }

    /// The call is answered. It stays until those before it are.
    pub(crate) fn settle(&mut self, key: &Key, about: About, took: Duration) {
        if let Some(line) = self.find(key) {
            line.state = State::Settled { about, took };
        }
    }

    /// An early answer was thrown away: the call is as it was proposed.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.0.retain(|line| line.key != *key);
    }

    fn find(&mut self, key: &Key) -> Option<&mut Line> {
        self.0.iter_mut().find(|line| line.key == *key)
    }

    /// Those that can be shown for good: settled, and nothing of the same agent before them is open.
    pub(crate) fn take_settled(&mut self) -> Vec<Line> {
        let mut open: HashSet<Option<Arc<str>>> = HashSet::new();
        let (mut settled, mut left) = (Vec::new(), Vec::new());
        for line in self.0.drain(..) {
            let ended = matches!(line.state, State::Settled { .. });
            if ended && !open.contains(&line.key.agent) {
                settled.push(line);
            } else {
                open.insert(line.key.agent.clone());
                left.push(line);
            }
        }
        self.0 = left;
        settled
    }

    /// Everything that is left, when nothing more will come.
    pub(crate) fn take_all(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.0)
    }

    /// One row for each, no more than `rows`.
    pub(crate) fn rows(&self, now: Instant, rows: usize, room: Room) -> Vec<(usize, String)> {
        let shown = if self.0.len() > rows { rows.saturating_sub(1) } else { self.0.len() };
        let mut lines: Vec<_> = self.0[..shown].iter().map(|line| line.row(now, room)).collect();
        if shown < self.0.len() {
            let more = self.0.len() - shown;
            lines.push(fitted(&format!("… +{more} more"), room.columns));
        }
        lines
    }
}

impl Line {
    fn indent(&self) -> String {
        "  ".repeat(self.depth.min(4))
    }

    fn row(&self, now: Instant, room: Room) -> (usize, String) {
        let (sign, after) = match &self.state {
            State::Waits => ("·".to_owned(), String::new()),
            State::Runs { since, fraction, message } => {
                let since = now.saturating_duration_since(*since);
                let beat = since.as_millis() / BEAT.as_millis();
                let sign = SPINNER[usize::try_from(beat).unwrap_or(0) % SPINNER.len()];
                (sign.to_owned(), running(since, *fraction, message))
            }
            State::Settled { about, took } => {
                (about.mark.sign().to_owned(), joined(&[&about.words, &duration(*took)]))
            }
        };
        let indent = self.indent();
        let after = if after.is_empty() { after } else { format!("  {after}") };
        let room_for_title = room
            .columns
            .saturating_sub(1 + indent.len() + 2 + width::of_text(&after))
            .max(room.columns.saturating_sub(3 + indent.len()) / 2);
        let text = format!("{indent}{sign} {}{after}", width::cut(&self.title, room_for_title));
        let (wide, text) = fitted(&text, room.columns);
        let style = match &self.state {
            State::Settled { about, .. } => about.mark.style(),
            State::Waits => Style::DIM,
            State::Runs { .. } => Style::PLAIN,
        };
        (wide, painted(style, &text, room.colours))
    }

    /// The call as it stays on screen, with what is shown below it.
    pub(crate) fn text(&self, room: Room) -> String {
        let State::Settled { about, took } = &self.state else {
            return format!("{}? {}  it has no answer\n", self.indent(), self.title);
        };
        let indent = self.indent();
        let sign = if room.cuts { about.mark.sign().to_owned() } else { format!("{:<7}", about.mark.word()) };
        let after = joined(&[&about.words, &duration(*took)]);
        let head = 1 + indent.len() + width::of_text(&sign);
        let line = room.columns.saturating_sub(head + 2);
        let sign = painted(about.mark.style(), &sign, room.colours);
        let dim = |text: &str| painted(Style::DIM, text, room.colours);
        let mut text = if !room.cuts || width::of_text(&self.title) + 2 + width::of_text(&after) <= line {
            format!("{indent}{sign} {}  {}\n", self.title, dim(&after))
        } else if room.columns >= 50 {
            let title = line.saturating_sub(2 + width::of_text(&after)).max(20);
            format!("{indent}{sign} {}  {}\n", width::cut(&self.title, title), dim(&after))
        } else {
            let below = width::cut(&after, line);
            format!("{indent}{sign} {}\n{indent}  {}\n", width::cut(&self.title, line), dim(&below))
        };
        for (style, below) in &about.below {
            let room_below = room.columns.saturating_sub(5 + indent.len());
            let rows = match (room.cuts, about.mark) {
                (false, _) => vec![below.clone()],
                // A line of a diff or an output is one row; a reason is read to its end.
                (true, Mark::Ok) => vec![width::cut(below, room_below)],
                (true, _) => width::wrap(below, room_below),
            };
            for row in rows {
                let _ = writeln!(text, "{indent}    {}", painted(*style, &row, room.colours));
            }
        }
        text
    }
}

/// How far a call is that runs: nothing in its first second, when nobody has begun to wonder.
fn running(since: Duration, fraction: f32, message: &str) -> String {
    let percent =
        if fraction > 0.0 && fraction < 1.0 { format!("{:.0}%", fraction * 100.0) } else { String::new() };
    let elapsed = if since.as_secs() >= 1 { format!("{} s", since.as_secs()) } else { String::new() };
    joined(&[&percent, message, &elapsed])
}

fn joined(parts: &[&str]) -> String {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("  ")
}

/// A time as people say it.
pub(crate) fn duration(took: Duration) -> String {
    match took.as_millis() {
        0 => String::new(),
        ms @ 1..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", took.as_secs_f64()),
        _ => format!("{} min {} s", took.as_secs() / 60, took.as_secs() % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(agent: Option<&str>, id: &str) -> Key {
        Key { agent: agent.map(Arc::from), number: 1, id: id.into() }
    }

    fn ok() -> About {
        About { mark: Mark::Ok, words: "3 lines".to_owned(), below: Vec::new() }
    }

    fn titles(lines: &[Line]) -> Vec<&str> {
        lines.iter().map(|line| line.title.as_str()).collect()
    }

    #[test]
    fn calls_settle_in_order_whatever_order_they_end_in() {
        let mut calls = Calls::default();
        for id in ["a", "b", "c"] {
            calls.propose(key(None, id), 0, id.to_owned());
            calls.start(&key(None, id), Instant::now());
        }
        calls.settle(&key(None, "c"), ok(), Duration::ZERO);
        assert_eq!(titles(&calls.take_settled()), [""; 0]);
        calls.settle(&key(None, "a"), ok(), Duration::ZERO);
        assert_eq!(titles(&calls.take_settled()), ["a"]);
        calls.settle(&key(None, "b"), ok(), Duration::ZERO);
        assert_eq!(titles(&calls.take_settled()), ["b", "c"]);
        assert!(calls.is_empty());
    }

    #[test]
    fn a_sub_agent_s_calls_do_not_wait_for_the_call_that_began_it() {
        let mut calls = Calls::default();
        calls.propose(key(None, "delegate"), 0, "delegate".to_owned());
        calls.propose(key(Some("sub"), "read"), 1, "read".to_owned());
        calls.settle(&key(Some("sub"), "read"), ok(), Duration::from_millis(5));
        let settled = calls.take_settled();
        assert_eq!(titles(&settled), ["read"]);
        let room = Room { columns: 60, colours: false, cuts: true };
        assert_eq!(settled[0].text(room), "  ✓ read  3 lines  5 ms\n");
    }

    #[test]
    fn rows_fit_the_window_and_what_has_no_room_is_counted() {
        let mut calls = Calls::default();
        let began = Instant::now();
        for id in 0..30 {
            let key = key(None, &id.to_string());
            calls.propose(key.clone(), 0, format!("read_file a/rather/long/path/to/number/{id}"));
            calls.start(&key, began);
            calls.progress(&key, 0.5, "half of it is read");
        }
        for columns in [10, 20, 60, 200] {
            let room = Room { columns, colours: false, cuts: true };
            let rows = calls.rows(began + Duration::from_secs(3), 10, room);
            assert_eq!(rows.len(), 10);
            assert!(rows.iter().all(|(wide, text)| *wide < columns && width::of_text(text) == *wide));
            assert!(rows[9].1.contains("+21"), "{rows:?}");
        }
        let room = Room { columns: 200, colours: false, cuts: true };
        let rows = calls.rows(began + Duration::from_secs(3), 10, room);
        assert_eq!(
            rows[0].1,
            "⠙ read_file a/rather/long/path/to/number/0  50%  half of it is read  3 s"
                .replace('⠙', SPINNER[30 % 8])
        );
    }

    #[test]
    fn in_a_file_nothing_is_cut_and_words_take_the_place_of_signs() {
        let mut calls = Calls::default();
        let title = format!("shell {}", "x".repeat(300));
        calls.propose(key(None, "a"), 0, title.clone());
        let about =
            About { mark: Mark::Refused, words: "refused at 4 permit, denied".to_owned(), below: vec![] };
        calls.settle(&key(None, "a"), about, Duration::ZERO);
        let text = calls.take_settled()[0].text(Room { columns: 80, colours: false, cuts: false });
        assert_eq!(text, format!("refused {title}  refused at 4 permit, denied\n"));
    }
}
