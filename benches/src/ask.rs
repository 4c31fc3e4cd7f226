//! A question to a model: from a client that does not exist yet to an answer, and the body of a long one.

use std::{
    hint::black_box,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
};

use serde_json::{Value, json};
use tollgate_agent::{
    model::{ErrorKind, Model, Request, Retries},
    price::Models,
    provider::{Account, Client, Secret, Settings},
};

use crate::table::{Row, best_of, wanted};

/// How many messages a long conversation has.
const MESSAGES: usize = 2_000;

/// The rows about questions.
pub(crate) fn rows() -> Vec<Row> {
    if !wanted("ask") {
        return Vec::new();
    }
    let address = serve();
    vec![first_answer(address), certificates(address), long_body(address)]
}

/// A client is made, connects, asks and is answered; the floor is a bare connection that does the same.
fn first_answer(address: SocketAddr) -> Row {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let floor = || {
        let mut stream = TcpStream::connect(address).expect("connects");
        stream
            .write_all(b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n")
            .expect("writes");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("reads");
        assert!(answer.starts_with(b"HTTP/1.1 200"));
    };
    let ask = |()| {
        let reply = client(address).ask(Request::new(vec![message(0)]));
        let turn = runtime.block_on(reply.turn()).expect("a turn");
        assert_eq!(turn.text, "Hi.");
    };
    let (floor, figure) = best_of(50, floor, || (), ask);
    Row::ratio("client made, asked, answered", "a bare connection", floor, figure, None)
}

/// The same up to the handshake, which fails here: with `https` the system's certificates are read first.
fn certificates(address: SocketAddr) -> Row {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let floor = || drop(TcpStream::connect(address).expect("connects"));
    let ask = |()| {
        let reply = client_at(format!("https://{address}")).ask(Request::new(vec![message(0)]));
        let broken = runtime.block_on(reply.turn()).expect_err("no handshake");
        assert_eq!(broken.error.kind(), ErrorKind::Tls, "{}", broken.error);
    };
    let (floor, figure) = best_of(20, floor, || (), ask);
    Row::ratio("client with certificates made, connected", "a bare connection", floor, figure, None)
}

/// The body of a request is written; the floor is its messages as JSON and nothing else.
fn long_body(address: SocketAddr) -> Row {
    let messages: Vec<Value> = (0..MESSAGES).map(message).collect();
    let request = Request::new(messages.clone()).with_system("Be brief.");
    let client = client(address);
    let floor = || black_box(serde_json::to_vec(&messages).expect("JSON"));
    let (floor, figure) = best_of(50, floor, || request.clone(), |request| black_box(client.ask(request)));
    Row::ratio("a request of 2,000 messages written", "its messages as JSON", floor, figure, Some(2.0))
}

fn client(address: SocketAddr) -> Client {
    client_at(format!("http://{address}"))
}

fn client_at(url: String) -> Client {
    let account = Account { key: Secret::new("sk-0123456789"), base_url: Some(url), ..Account::default() };
    let settings = Settings { anthropic: account, retries: Retries::NONE, ..Settings::default() };
    let name = "anthropic:claude-sonnet-4-5".parse().expect("a name");
    Client::new(name, settings, &Models::builtin()).expect("a client")
}

fn message(at: usize) -> Value {
    let text = format!("Message {at}: a sentence of ordinary length, with “quotes” and a line\nbreak in it.");
    let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
    json!({"role": role, "content": [{"type": "text", "text": text}]})
}

/// The first byte of a TLS connection.
const HANDSHAKE: u8 = 0x16;

/// Answers every connection with the same turn, once its request is whole.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let (mut request, mut chunk) = (Vec::new(), [0; 4096]);
            while !is_whole(&request) && !request.starts_with(&[HANDSHAKE]) {
                match stream.read(&mut chunk) {
                    Ok(read @ 1..) => request.extend_from_slice(&chunk[..read]),
                    _ => break,
                }
            }
            let body =
                r#"{"role":"assistant","content":[{"type":"text","text":"Hi."}],"stop_reason":"end_turn"}"#;
            let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json";
            // Who hung up needs no answer.
            let _ = write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        }
    });
    address
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    length.is_none_or(|length| body.len() >= length)
}
