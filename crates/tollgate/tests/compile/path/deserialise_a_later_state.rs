//! What is stored is never more than proposed: a permit cannot be read back from anywhere.

use tollgate::call::{Call, Permitted};

fn main() {
    let stored = r#"{"id": "c1", "name": "add", "input": {}}"#;
    let _ = serde_json::from_str::<Call<Permitted>>(stored);
}
