//! The scripted server: does what the steps of a case say, and writes down what was asked of it.

#![expect(clippy::disallowed_methods, reason = "a case has the server leave a child behind")]

use std::{
    fs::{File, OpenOptions},
    io::{BufRead as _, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

struct Server {
    steps: Vec<Value>,
    folder: PathBuf,
    /// Which of the lists is given next; a notice or a new start goes on to the next one.
    list: usize,
    /// How many calls came: each has its own step, and the last one serves the rest.
    calls: usize,
    pending: Vec<Value>,
    /// Calls that wait for the answer to a question of ours.
    asking: Vec<Value>,
}

/// Plays the steps in `folder/steps.json` until stdin ends.
pub(crate) fn play(folder: &Path) {
    let text = std::fs::read_to_string(folder.join("steps.json")).expect("steps");
    let steps: Vec<Value> = serde_json::from_str(&text).expect("steps are JSON");
    let starts = count(folder, "start");
    note(folder, "start");
    note(folder, &format!("pid {}", std::process::id()));
    let mut server = Server {
        steps,
        folder: folder.to_owned(),
        list: starts,
        calls: 0,
        pending: Vec::new(),
        asking: Vec::new(),
    };
    if server.step("crash_loop").and_then(Value::as_u64).is_some_and(|times| (starts as u64) < times) {
        eprintln!("cannot bind the port");
        std::process::exit(1);
    }
    if let Some(megabytes) = server.step("stderr_flood_mb").and_then(Value::as_u64) {
        let line = [b"x".repeat(1023), b"\n".to_vec()].concat();
        for _ in 0..megabytes * 1024 {
            std::io::stderr().write_all(&line).expect("stderr is read");
        }
    }
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        server.take(&serde_json::from_str(&line).expect("we are sent JSON"));
    }
}

impl Server {
    fn take(&mut self, message: &Value) {
        let Some(method) = message["method"].as_str() else {
            // An answer to what we asked: whoever waits for it is told it.
            let action = message["result"]["action"].as_str().unwrap_or("none");
            note(&self.folder, &format!("answer {action}"));
            let told = message.get("result").or(message.get("error")).cloned().unwrap_or_default();
            return self.asking.drain(..).for_each(|call| say(&answer(&call, text(&told.to_string()))));
        };
        note(&self.folder, method);
        if message.get("id").is_none() {
            if method == "notifications/initialized" {
                self.after_start();
            }
            return;
        }
        match method {
            "initialize" | "server/discover" if self.on(method).is_some() => {
                let step = self.on(method).cloned().unwrap_or_default();
                self.reply(&step, message);
            }
            "initialize" => say(&answer(
                message,
                json!({"protocolVersion": "2025-06-18", "serverInfo": {"name": "x", "version": "1"},
                "capabilities": {"tools": {"listChanged": true}}}),
            )),
            "tools/list" => self.list_tools(message),
            "tools/call" => self.call(message),
            _ => say(
                &json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}}),
            ),
        }
    }

    fn after_start(&self) {
        if let Some(noise) = self.step("stdout_noise").and_then(Value::as_str) {
            out(noise.as_bytes());
        }
        if let Some(step) = self.steps.iter().find(|step| step.get("emit_loop").is_some()) {
            let notice = json!({"jsonrpc": "2.0", "method": step["emit_loop"]}).to_string() + "\n";
            for _ in 0..step["count"].as_u64().unwrap_or(1) {
                out(notice.as_bytes());
            }
        }
        if let Some(step) = self.steps.iter().find(|step| step.get("request").is_some()) {
            say(&json!({"jsonrpc": "2.0", "id": 900, "method": step["request"], "params": step["params"]}));
        }
    }

    fn list_tools(&self, message: &Value) {
        let lists: Vec<_> = self.steps.iter().filter(|step| step["on"] == "tools/list").collect();
        let Some(step) = lists.get(self.list.min(lists.len().saturating_sub(1))) else {
            return say(&answer(message, json!({"tools": []})));
        };
        if let Some(count) = step["gen"]["tools"].as_u64() {
            let words = "x".repeat(step["gen"]["description_chars"].as_u64().unwrap_or(10) as usize);
            let tool = |at| json!({"name": format!("tool_{at}"), "description": words, "inputSchema": {"type": "object"}});
            return say(&answer(message, json!({"tools": (0..count).map(tool).collect::<Vec<_>>()})));
        }
        if let Some(depth) = step["gen"]["schema_depth"].as_u64() {
            let (open, close) = ("{\"items\":".repeat(depth as usize), "}".repeat(depth as usize));
            let deep = format!(r#"{{"type":"object","properties":{{"q":{open}{{}}{close}}}}}"#);
            let tools = format!(
                r#"[{{"name":"deep","inputSchema":{deep}}},{{"name":"lookup","inputSchema":{{"type":"object"}}}}]"#
            );
            let id = &message["id"];
            return out(
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"tools\":{tools}}}}}\n").as_bytes()
            );
        }
        // Pages: what is said to each cursor, and `*` for any other.
        let cursor = message["params"]["cursor"].as_str().unwrap_or("-");
        if let Some(page) = step.get("pages").and_then(|pages| pages.get(cursor).or(pages.get("*"))) {
            let page = page.to_string().replace("{n}", &count(&self.folder, "tools/list").to_string());
            return self.reply(&serde_json::from_str(&page).expect("a page"), message);
        }
        self.reply(step, message);
    }

    fn call(&mut self, message: &Value) {
        let steps: Vec<_> = self.steps.iter().filter(|step| step["on"] == "tools/call").collect();
        let step = steps.get(self.calls.min(steps.len().saturating_sub(1)));
        let step = step.map(|step| (*step).clone()).unwrap_or_default();
        self.calls += 1;
        if let Some(question) = step.get("ask") {
            self.asking.push(message.clone());
            return say(
                &json!({"jsonrpc": "2.0", "id": "ours", "method": question["method"], "params": question["params"]}),
            );
        }
        if let Some(bytes) = step["gen"]["text_bytes"].as_u64() {
            let head = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"",
                message["id"]
            );
            out(head.as_bytes());
            let part = b"x".repeat(1 << 20);
            (0..bytes >> 20).for_each(|_| out(&part));
            return out(b"\"}]}}\n");
        }
        if step["spawn_child_and_exit"] == true {
            let child =
                Command::new("sleep").arg("300").stdin(Stdio::inherit()).spawn().expect("sleep starts");
            note(&self.folder, &format!("child {}", child.id()));
            std::process::exit(0);
        }
        if step.get("reply_id_of").is_some() {
            self.pending.push(message["id"].clone());
            let other = json!(message["id"].as_u64().unwrap_or_default() + 1);
            return say(&json!({"jsonrpc": "2.0", "id": other, "result": text("another's")}));
        }
        match step.is_null() {
            true => say(&answer(message, text("fine"))),
            false => self.reply(&step, message),
        }
        if self.steps.iter().any(|step| step.get("emit").is_some()) {
            self.list += 1;
            let notice = self.step("emit").cloned().unwrap_or_default();
            say(&json!({"jsonrpc": "2.0", "method": notice}));
        }
    }

    /// What a step says to do about a request.
    fn reply(&self, step: &Value, message: &Value) {
        let filled = |raw: &str| {
            let mut raw = raw.replace("{id}", &message["id"].to_string());
            for (mark, fill) in step["fills"].as_object().into_iter().flatten() {
                let times = fill[1].as_u64().unwrap_or(1) as usize;
                raw = raw.replace(mark, &fill[0].as_str().unwrap_or_default().repeat(times));
            }
            raw
        };
        if let Some(pause) = step["delay_ms"].as_u64() {
            std::thread::sleep(std::time::Duration::from_millis(pause));
        }
        for raw in step["before"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            (0..step["times"].as_u64().unwrap_or(1)).for_each(|_| out(filled(raw).as_bytes()));
        }
        if let Some(hex) = step["write_hex"].as_str() {
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("a byte");
            return out(&(0..hex.len()).step_by(2).map(byte).collect::<Vec<_>>());
        }
        if step["hang"] == true {
            return;
        }
        if let Some(code) = step["exit"].as_i64() {
            std::process::exit(i32::try_from(code).unwrap_or(1));
        }
        if let Some(raw) = step["write"].as_str() {
            return out(filled(raw).as_bytes());
        }
        let reply = match step.get("error") {
            Some(error) => json!({"jsonrpc": "2.0", "id": message["id"], "error": error}),
            None => {
                let result = step.get("reply").cloned().unwrap_or_else(|| text("fine"));
                let id = step.get("reply_id").unwrap_or(&message["id"]);
                json!({"jsonrpc": "2.0", "id": id, "result": result})
            }
        };
        say(&reply);
        if step["reply_twice"] == true {
            say(&reply);
        }
    }

    fn step(&self, key: &str) -> Option<&Value> {
        self.steps.iter().find_map(|step| step.get(key))
    }

    fn on(&self, method: &str) -> Option<&Value> {
        self.steps.iter().find(|step| step["on"] == method)
    }
}

fn answer(to: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": to["id"], "result": result})
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn say(message: &Value) {
    out(format!("{message}\n").as_bytes());
}

fn out(bytes: &[u8]) {
    let mut stdout = std::io::stdout().lock();
    if stdout.write_all(bytes).and_then(|()| stdout.flush()).is_err() {
        std::process::exit(0);
    }
}

fn log(folder: &Path) -> PathBuf {
    folder.join("asked.log")
}

fn note(folder: &Path, line: &str) {
    let mut file: File = OpenOptions::new().create(true).append(true).open(log(folder)).expect("a log");
    writeln!(file, "{line}").expect("a log that takes lines");
}

/// How often the server was asked this.
pub(crate) fn count(folder: &Path, asked: &str) -> usize {
    lines(folder).iter().filter(|line| *line == asked).count()
}

pub(crate) fn lines(folder: &Path) -> Vec<String> {
    std::fs::read_to_string(log(folder)).unwrap_or_default().lines().map(str::to_owned).collect()
}
