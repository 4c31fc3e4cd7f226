//! One question from the first attempt to the last byte of its answer.

use std::{collections::VecDeque, future::Future, sync::Arc, time::Duration};

use bytes::Bytes;
use reqwest::{Response, header};
use tokio_util::sync::CancellationToken;
use tollgate::wire::{MAX_BODY_BYTES, ModelTurn, Stop, TurnEvent, TurnReader, read_turn};

use super::{
    fault::{self, is_page},
    line::Line,
};
use crate::model::{Broken, ErrorKind, ModelError, Step, Waiting};

/// A question on its way.
pub(super) struct Exchange {
    line: Arc<Line>,
    body: Bytes,
    cancel: CancellationToken,
    /// How many times it was made.
    made: u32,
    /// Part of an answer was handed on: from here on only the caller may begin again.
    handed_on: bool,
    state: State,
    ready: VecDeque<Step>,
}

enum State {
    /// To be sent after a while.
    Resting(Duration),
    /// Events are coming.
    Streaming(Box<Streaming>),
    /// The last step is told.
    Over,
}

struct Streaming {
    response: Response,
    reader: TurnReader,
    request_id: Option<String>,
    /// The first bytes are those of a web page.
    page: bool,
    begun: bool,
}

impl Exchange {
    pub(super) fn new(line: Arc<Line>, body: Vec<u8>, cancel: CancellationToken) -> Self {
        Self {
            line,
            body: body.into(),
            cancel,
            made: 0,
            handed_on: false,
            state: State::Resting(Duration::ZERO),
            ready: VecDeque::new(),
        }
    }

    /// The next step; `None` after the last one.
    pub(super) async fn next(&mut self) -> Option<Step> {
        loop {
            if let Some(step) = self.ready.pop_front() {
                return Some(step);
            }
            let went = match std::mem::replace(&mut self.state, State::Over) {
                State::Over => return None,
                State::Resting(delay) => self.send(delay).await,
                State::Streaming(stream) => self.read(stream).await,
            };
            if let Err(broken) = went {
                self.again_or_broken(broken);
            }
        }
    }

    async fn send(&mut self, delay: Duration) -> Result<(), Broken> {
        if !delay.is_zero() {
            self.or_cancelled(tokio::time::sleep(delay)).await.map_err(nothing)?;
        }
        self.made += 1;
        let request = self.line.request(self.body.clone()).map_err(nothing)?;
        let sent = self.or_cancelled(request.send()).await.map_err(nothing)?;
        let response = sent.map_err(|error| nothing(self.line.asked().transport(&error)))?;
        if response.status().is_success() && is_stream(&response) {
            self.state = State::Streaming(Box::new(Streaming {
                reader: TurnReader::new(self.line.name.api.provider()),
                request_id: fault::request_id(response.headers()),
                response,
                page: false,
                begun: false,
            }));
            return Ok(());
        }
        self.whole(response).await
    }

    /// An answer that does not call itself a stream: a turn in one piece, or an error.
    async fn whole(&mut self, response: Response) -> Result<(), Broken> {
        let (status, headers) = (response.status(), response.headers().clone());
        let read = self.or_cancelled(read_all(response)).await.map_err(nothing)?;
        let asked = self.line.asked();
        let body = match read {
            Ok(body) => body,
            // What an error has to say may break off; that it is one is known.
            Err(_) if !status.is_success() => Vec::new(),
            Err(error) => return Err(nothing(asked.transport(&error))),
        };
        if !status.is_success() {
            return Err(nothing(asked.status(status.as_u16(), &headers, &body)));
        }
        let provider = self.line.name.api.provider();
        let turn = if matches!(body.trim_ascii_start().first(), Some(b'{' | b'[' | b'<') | None) {
            read_turn(provider, &body).map_err(|error| nothing(asked.no_turn(&error, &body)))?
        } else {
            let mut reader = TurnReader::new(provider);
            reader.push(&body);
            reader.finish()
        };
        let text = Some(&turn.text).filter(|text| !text.is_empty());
        let mut events: Vec<_> = text.map(|text| TurnEvent::TextDelta(text.clone())).into_iter().collect();
        events.extend(turn.calls.iter().cloned().map(TurnEvent::CallReady));
        let done = self.ended(turn, false, fault::request_id(&headers))?;
        self.ready.extend(events.into_iter().map(Step::Event));
        self.ready.push_back(done);
        Ok(())
    }

    async fn read(&mut self, mut stream: Box<Streaming>) -> Result<(), Broken> {
        let chunk = match self.or_cancelled(stream.response.chunk()).await {
            Ok(chunk) => chunk,
            Err(cancelled) => {
                return Err(Broken { error: cancelled, partial: some_of(stream.reader.finish()) });
            }
        };
        let chunk = match chunk {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return self.stream_ends(*stream, None),
            Err(error) => return self.stream_ends(*stream, Some(self.line.asked().transport(&error))),
        };
        if !std::mem::replace(&mut stream.begun, true) {
            stream.page = is_page(&chunk);
        }
        for event in stream.reader.push(&chunk) {
            // The reader has given up; why is in the turn.
            if let TurnEvent::Error(_) = event {
                return self.stream_ends(*stream, None);
            }
            self.handed_on |= matters(&event);
            self.ready.push_back(Step::Event(event));
        }
        self.state = State::Streaming(stream);
        Ok(())
    }

    /// The stream is over, by itself or because the connection broke.
    fn stream_ends(&mut self, stream: Streaming, broke: Option<ModelError>) -> Result<(), Broken> {
        let turn = stream.reader.finish();
        match broke {
            // Some servers just hang up when they are done; only where the turn is not whole does that matter.
            Some(error) if matches!(turn.stop, Stop::Failed(_)) => {
                let error = error.with_request_id(stream.request_id);
                Err(Broken { error, partial: some_of(turn) })
            }
            _ => {
                let done = self.ended(turn, stream.page, stream.request_id)?;
                self.ready.push_back(done);
                Ok(())
            }
        }
    }

    /// The last step for a turn that has come to its end, one way or the other.
    fn ended(&self, turn: ModelTurn, page: bool, request_id: Option<String>) -> Result<Step, Broken> {
        let asked = self.line.asked();
        let error = match &turn.stop {
            Stop::ProviderFailed { kind, message } => asked.provider(kind, message),
            Stop::Failed(_) if page => asked.told(ErrorKind::NotTheApi, fault::PAGE),
            Stop::Failed(why) => ModelError::cut(format!("the answer of {} was cut: {why}", asked.host)),
            _ => return Ok(Step::Done(Box::new(turn))),
        };
        Err(Broken { error: error.with_request_id(request_id), partial: some_of(turn) })
    }

    /// Makes the request again where that may help and nobody has seen anything of the answer.
    fn again_or_broken(&mut self, mut broken: Broken) {
        let retries = self.line.settings.retries;
        let delay = retries.delay(self.made, &broken.error).filter(|_| !self.handed_on);
        let Some(delay) = delay else {
            self.state = State::Over;
            if !self.handed_on {
                broken.error = broken.error.tried_out();
            }
            self.ready.push_back(Step::Broken(broken));
            return;
        };
        self.state = State::Resting(delay);
        let (attempt, of) = (self.made + 1, retries.attempts_for(&broken.error));
        self.ready.push_back(Step::Waiting(Waiting { error: broken.error, delay, attempt, of }));
    }

    async fn or_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, ModelError> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {
                Err(ModelError::new(ErrorKind::Cancelled, "the request was cancelled"))
            }
            done = work => Ok(done),
        }
    }
}

fn nothing(error: ModelError) -> Broken {
    Broken { error, partial: None }
}

/// What came of a turn, if anything did.
fn some_of(turn: ModelTurn) -> Option<Box<ModelTurn>> {
    let empty = turn.text.is_empty() && turn.calls.is_empty() && turn.usage.is_none();
    (!empty).then(|| Box::new(turn))
}

/// True for what a caller shows or acts upon. Counts may be told twice; they replace each other.
fn matters(event: &TurnEvent) -> bool {
    match event {
        TurnEvent::TextDelta(_) | TurnEvent::ThinkingDelta(_) | TurnEvent::CallReady(_) => true,
        TurnEvent::Usage(_) | TurnEvent::Stop(_) | TurnEvent::Error(_) | TurnEvent::Ignored(_) => false,
    }
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| {
        let kind = kind.to_ascii_lowercase();
        ["event-stream", "ndjson", "jsonl", "json-seq"].iter().any(|word| kind.contains(word))
    })
}

/// The whole body, up to one byte more than is read as a turn.
async fn read_all(mut response: Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_BODY_BYTES {
            body.truncate(MAX_BODY_BYTES + 1);
            break;
        }
    }
    Ok(body)
}
