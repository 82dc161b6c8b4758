//! The plugin @ID@: a tool that repeats a text.

mod tenon;

use tenon::{Borrowed, Component, Error, Names, Result, Running, Value};

tenon::plugin!("../manifest.json", "@ID@.repeat" => Repeat);

struct Repeat;

impl Component for Repeat {
    fn create(_config: Borrowed, _names: Names) -> Result<Repeat> {
        Ok(Repeat)
    }

    /// The input is the arguments, which the host has validated.
    fn run(&self, task: Running, input: Borrowed) -> Result<()> {
        let text = input.member("text").expect("it is required");
        let times = input.member("times").and_then(|value| value.int()).unwrap_or(2);
        if !(0..=100).contains(&times) {
            return Err(Error::Failure("INVALID_INPUT", "`times` must be 0 to 100".into()));
        }
        task.complete(Some(Value::array((0..times).map(|_| text.owned()))?))
    }
}
