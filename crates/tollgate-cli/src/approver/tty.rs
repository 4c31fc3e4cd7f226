//! The person's own terminal: opened by its name, never by stdin, and left as it was found.

use std::{
    fs::File,
    io::{self, PipeReader, PipeWriter, Read as _, Write as _},
    thread::JoinHandle,
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
    tcgetpgrp, tcgetwinsize, tcsetattr,
};
use tokio::sync::mpsc;

use super::keys::{Key, Parser};

/// The terminal this program was started from.
#[derive(Debug)]
pub(crate) struct Tty(File);

/// The terminal while a question stands: keys come one by one and are not shown. Dropping it puts all back.
#[derive(Debug)]
pub(crate) struct Talk<'a> {
    tty: &'a Tty,
    before: Termios,
    keys: mpsc::UnboundedReceiver<Key>,
    listener: Option<(PipeWriter, JoinHandle<()>)>,
}

impl Tty {
    /// The terminal; `None` where there is none.
    pub(crate) fn open() -> Option<Self> {
        let file = File::options().read(true).write(true).open("/dev/tty").ok()?;
        tcgetattr(&file).ok().map(|_| Self(file))
    }

    /// True where the keys are ours: a program in the background would be stopped for asking for them.
    pub(crate) fn is_ours(&self) -> bool {
        tcgetpgrp(&self.0).is_ok_and(|group| group == getpgrp())
    }

    /// Begins to listen. What was typed before the question stood there is thrown away: it cannot be an answer to it.
    pub(crate) fn listen(&self) -> io::Result<Talk<'_>> {
        let before = tcgetattr(&self.0)?;
        let mut quiet = before.clone();
        // Ctrl-C is an answer here, not a signal.
        quiet.local_modes &= !(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN);
        quiet.input_modes &= !(InputModes::IXON | InputModes::INLCR);
        quiet.input_modes |= InputModes::ICRNL;
        // A read takes what is there and does not wait.
        quiet.special_codes[SpecialCodeIndex::VMIN] = 0;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        let source = self.0.try_clone()?;
        let (over, end) = io::pipe()?;
        let (send, keys) = mpsc::unbounded_channel();
        let mut talk = Talk { tty: self, before, keys, listener: None };
        tcsetattr(&self.0, OptionalActions::Flush, &quiet)?;
        tcflush(&self.0, QueueSelector::IFlush)?;
        let listener = std::thread::Builder::new().name("tollgate-keys".to_owned());
        talk.listener = Some((end, listener.spawn(move || listen(source, &over, &send))?));
        Ok(talk)
    }
}

impl Talk<'_> {
    /// The next key.
    pub(crate) async fn key(&mut self) -> Key {
        self.keys.recv().await.unwrap_or(Key::Gone)
    }

    /// Shows this. A terminal that cannot be written to cannot be read from either, and says so there.
    pub(crate) fn say(&self, text: &str) {
        let mut file = &self.tty.0;
        let _ = file.write_all(text.as_bytes()).and_then(|()| file.flush());
    }

    /// How many characters fit on a line.
    pub(crate) fn width(&self) -> usize {
        let width = tcgetwinsize(&self.tty.0).map_or(0, |size| usize::from(size.ws_col));
        if width == 0 { 80 } else { width }
    }
}

impl Drop for Talk<'_> {
    fn drop(&mut self) {
        // The listener is gone before the terminal is put back: it takes no key that is meant for somebody else.
        if let Some((end, listener)) = self.listener.take() {
            drop(end);
            let _ = listener.join();
        }
        let _ = tcsetattr(&self.tty.0, OptionalActions::Flush, &self.before);
    }
}

/// How long the rest of a key may take to arrive.
const REST: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Reads keys until it is over or the terminal is gone.
fn listen(mut source: File, over: &PipeReader, send: &mpsc::UnboundedSender<Key>) {
    let (mut parser, mut bytes) = (Parser::default(), [0; 256]);
    loop {
        let wait = parser.is_waiting().then_some(&REST);
        let mut watched = [PollFd::new(&source, PollFlags::IN), PollFd::new(over, PollFlags::IN)];
        let ready = match poll(&mut watched, wait) {
            Err(rustix::io::Errno::INTR) => continue,
            ready => ready,
        };
        let [typed, ended] = watched.map(|fd| !fd.revents().is_empty());
        let keys = match ready {
            Ok(_) if ended => return,
            Ok(_) if typed => match source.read(&mut bytes) {
                Ok(length @ 1..) => parser.read(&bytes[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(_) | Err(_) => return,
            },
            Ok(_) => parser.pause(),
            Err(_) => return,
        };
        if keys.into_iter().any(|key| send.send(key).is_err()) {
            return;
        }
    }
}
