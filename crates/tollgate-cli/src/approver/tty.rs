//! The person's own terminal: opened by its name, never by stdin, and left as it was found.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
    tcgetwinsize, tcsetattr,
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
    over: Arc<AtomicBool>,
    keys: mpsc::UnboundedReceiver<Key>,
}

impl Tty {
    /// The terminal; `None` where there is none.
    pub(crate) fn open() -> Option<Self> {
        let file = File::options().read(true).write(true).open("/dev/tty").ok()?;
        tcgetattr(&file).ok().map(|_| Self(file))
    }

    /// Begins to listen. What was typed before the question stood there is thrown away: it cannot be an answer to it.
    pub(crate) fn listen(&self) -> io::Result<Talk<'_>> {
        let before = tcgetattr(&self.0)?;
        let mut quiet = before.clone();
        // Ctrl-C is an answer here, not a signal.
        quiet.local_modes &= !(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN);
        quiet.input_modes &= !(InputModes::IXON | InputModes::INLCR);
        quiet.input_modes |= InputModes::ICRNL;
        // A read waits a tenth of a second at most, so that the listener sees when it is over.
        quiet.special_codes[SpecialCodeIndex::VMIN] = 0;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 1;
        let source = self.0.try_clone()?;
        tcsetattr(&self.0, OptionalActions::Flush, &quiet)?;
        tcflush(&self.0, QueueSelector::IFlush)?;
        let (send, keys) = mpsc::unbounded_channel();
        let talk = Talk { tty: self, before, over: Arc::default(), keys };
        let over = talk.over.clone();
        std::thread::Builder::new()
            .name("tollgate-keys".to_owned())
            .spawn(move || read(source, &over, &send))?;
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
        self.over.store(true, Ordering::Release);
        let _ = tcsetattr(&self.tty.0, OptionalActions::Flush, &self.before);
    }
}

/// A read that comes back empty sooner than this did not wait: the terminal is gone.
const SHORT: Duration = Duration::from_millis(20);

fn read(mut source: File, over: &AtomicBool, send: &mpsc::UnboundedSender<Key>) {
    let (mut parser, mut bytes, mut short) = (Parser::default(), [0; 256], 0);
    while !over.load(Ordering::Acquire) && short < 10 {
        let began = Instant::now();
        let keys = match source.read(&mut bytes) {
            Ok(0) => {
                short = if began.elapsed() < SHORT { short + 1 } else { 0 };
                parser.pause()
            }
            Ok(length) => {
                short = 0;
                parser.read(&bytes[..length])
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        for key in keys {
            if send.send(key).is_err() {
                return;
            }
        }
    }
}
