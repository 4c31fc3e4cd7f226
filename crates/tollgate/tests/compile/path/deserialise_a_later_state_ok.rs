//! The twin of `deserialise_a_later_state`: a proposal can be read, and walks every phase again.

use tollgate::call::Proposed;

fn main() {
    let stored = r#"{"id": "c1", "name": "add", "input": {}}"#;
    serde_json::from_str::<Proposed>(stored).unwrap();
}
