//! The plugin @ID@: a model that repeats what the user says.
//!
//! The shapes of input, deltas and output are those of `tenon schema model`.

mod tenon;

use tenon::{Borrowed, Component, Error, Names, Result, Running, Value};

tenon::plugin!("../manifest.json", "@ID@" => Echo);

struct Echo;

/// The text of the last message of the user.
fn last_question(messages: Borrowed) -> String {
    if let Some(text) = messages.text() {
        return text.to_owned();
    }
    for message in messages.items().rev() {
        let kind = message.member_text("type").or_else(|| message.member_text("role"));
        if let Some(text) = message.text() {
            return text.to_owned();
        }
        if !matches!(kind, Some("user" | "human")) {
            continue;
        }
        if let Some(content) = message.member("content") {
            let parts = || content.items().filter_map(|part| part.member_text("text")).collect();
            return content.text().map_or_else(parts, str::to_owned);
        }
    }
    String::new()
}

impl Component for Echo {
    /// `model` of the configuration is the name; options such as `temperature` are beside it.
    fn create(_config: Borrowed, _names: Names) -> Result<Echo> {
        Ok(Echo)
    }

    fn run(&self, task: Running, input: Borrowed) -> Result<()> {
        let messages = input.member("messages");
        let messages =
            messages.ok_or_else(|| Error::Failure("UNSUPPORTED", "this model makes no embeddings".into()))?;
        let answer = format!("You said: {}", last_question(messages));
        let mut words = 0; // a token is a word here
        for word in answer.split_inclusive(' ') {
            task.emit(&Value::object([("content", Value::text(word)?)])?)?;
            words += 1;
        }
        let usage = [("input_tokens", words - 2), ("output_tokens", words), ("total_tokens", 2 * words - 2)];
        let [a, b, c] = usage.map(|(name, count)| Value::int(count).map(|value| (name, value)));
        let message = Value::object([("type", Value::text("ai")?), ("content", Value::text(&answer)?)])?;
        task.complete(Some(Value::object([
            ("message", message),
            ("usage", Value::object([a?, b?, c?])?),
            ("finish_reason", Value::text("stop")?),
        ])?))
    }
}
