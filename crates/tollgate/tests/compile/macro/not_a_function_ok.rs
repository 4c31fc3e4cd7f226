//! The twin of `not_a_function`: what is not a function implements the trait.

use tollgate::{Cx, Failure, Output, Tool, ToolSpec, tool::input_schema};

struct Add;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Args {
    a: i64,
}

impl Tool for Add {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        ToolSpec::new("add", "Adds.", input_schema::<Args>()).unwrap()
    }

    async fn run(&self, _: &Cx, args: &Args) -> Result<Output, Failure> {
        Ok(Output::json(args.a))
    }
}

fn main() {
    let _ = tollgate::Registry::new().with(Add);
}
