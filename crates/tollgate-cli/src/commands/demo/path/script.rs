//! What the model of the demonstration proposes, and the words around it.

use tollgate::{Proposed, policy::Decision};

/// One turn of the model.
pub(super) struct Scene {
    pub(super) title: &'static str,
    /// What to look at.
    pub(super) look: &'static str,
    /// Id, tool and arguments of each call.
    pub(super) calls: &'static [(&'static str, &'static str, &'static str)],
}

pub(super) const OPENING: &str = "\
Tollgate: the model proposes; Tollgate decides, runs and records.
Mock tools, the real path. Nothing on this machine is touched.";

pub(super) const CLOSING: &str = "
Go on:
  tollgate demo                              an agent on a real task, with the built-in tools
  tollgate explain TOOL JSON --mocks FILE    what would happen to a call, and why; runs nothing
  tollgate call TOOL JSON --mocks FILE       one call through the whole path; without --mocks, of a built-in tool
A mocks file is also what an MCP server answers to tools/list, or the tools array of a provider.";

pub(super) const RULES: [(Decision, &str); 5] = [
    (Decision::Allow, "read_file"),
    (Decision::Allow, "write_file"),
    (Decision::Allow, "search"),
    (Decision::Allow, "transfer"),
    (Decision::Deny, "shell"),
];

pub(super) const SCENES: [Scene; 4] = [
    Scene {
        title: "Reads run together, a write runs alone",
        look: "Three reads of 300 ms share a batch. The write waits for them and has the workspace to itself; \
               the read after it waits too.",
        calls: &[
            ("r1", "read_file", r#"{"path": "src/main.rs"}"#),
            ("r2", "read_file", r#"{"path": "src/lib.rs"}"#),
            ("r3", "read_file", r#"{"path": "README.md"}"#),
            ("w1", "write_file", r#"{"path": "src/lib.rs", "content": "…"}"#),
            ("r4", "read_file", r#"{"path": "tests"}"#),
        ],
    },
    Scene {
        title: "What may not run is refused, with the reason and what would be right",
        look: "A rule denies the first call. The second has a typing slip in a field. Neither tool was started.",
        calls: &[
            ("d1", "shell", r#"{"command": "git push origin main"}"#),
            ("d2", "read_file", r#"{"pth": "src/main.rs"}"#),
        ],
    },
    Scene {
        title: "A hook rewrites a call, and the rewritten call is judged again",
        look: "The model asks for 5000 hits. A hook makes it 50, before anyone is asked for permission: what \
               was permitted is exactly what runs.",
        calls: &[("h1", "search", r#"{"query": "TODO", "limit": 5000}"#)],
    },
    Scene {
        title: "A write that does not come back is unknown, and never repeated by itself",
        look: "The bank does not answer within the 300 ms this tool has. Told to stop, it does not even say so. Perhaps \
               the money has moved.",
        calls: &[("u1", "transfer", r#"{"to": "ACME", "cents": 125000}"#)],
    },
];

impl Scene {
    pub(super) fn proposed(&self) -> Vec<Proposed> {
        self.calls.iter().map(|(id, tool, input)| Proposed::new(id, *tool, *input)).collect()
    }
}
