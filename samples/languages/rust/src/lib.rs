//! A plugin in Rust that uses only the standard library. `tenon.rs`, of the template of `tenon plugin new`, has the
//! contract; this file has the components.
//!
//! A failure is an `Err`. A panic must not reach the host, because its frames cannot unwind: `tenon.rs` converts it to a
//! failed task or a refused configuration. To demonstrate this, the word `panic!` in the input triggers a deliberate
//! error.

mod tenon;

use std::collections::HashSet;
use tenon::{Borrowed, Component, Error, Names, Result, Running, Value};

tenon::plugin!("../manifest.json", "rust.count" => Count, "rust.title" => Title);

/// Returns the words of a text, separated by blanks.
fn words_of(text: &str) -> Vec<&str> {
    let words: Vec<&str> = text.split([' ', '\t', '\r', '\n']).filter(|word| !word.is_empty()).collect();
    if let Some(at) = words.iter().position(|word| *word == "panic!") {
        let _ = words[at + words.len()]; // the deliberate error: index out of range
    }
    words
}

/// A blocking component: emit waits until the host accepts the chunk.
struct Count {
    from: u32,
    to: u32,
}

impl Component for Count {
    fn create(config: Borrowed, names: Names) -> Result<Count> {
        let name = |key| config.member_text(key).expect("the host has validated it");
        Ok(Count { from: names.read(name("input_key"))?, to: names.write(name("output_key"))? })
    }

    fn run(&self, task: Running, _input: Borrowed) -> Result<()> {
        let text = task.read_text(self.from)?;
        let words = words_of(&text);
        let mut seen = HashSet::new();
        for word in &words {
            if seen.insert(*word) {
                task.emit(&Value::object([("word", Value::text(word)?)])?)?;
            }
        }
        let (words, distinct) = (Value::int(words.len() as i64)?, Value::int(seen.len() as i64)?);
        task.write(self.to, &Value::object([("words", words), ("distinct", distinct)])?)?;
        task.complete(None)
    }
}

struct Title;

impl Component for Title {
    fn create(_config: Borrowed, _names: Names) -> Result<Title> {
        Ok(Title)
    }

    fn run(&self, task: Running, input: Borrowed) -> Result<()> {
        let text = input.member_text("text").expect("the host has validated it");
        if words_of(text).is_empty() {
            return Err(Error::Failure("INVALID_INPUT", "`text` is blank; give it a word at least".into()));
        }
        let (mut title, mut inside) = (String::with_capacity(text.len()), false);
        for c in text.chars() {
            if inside {
                title.extend(c.to_lowercase());
            } else {
                title.extend(c.to_uppercase());
            }
            inside = !matches!(c, ' ' | '\t' | '\r' | '\n');
        }
        task.complete(Some(Value::text(&title)?))
    }
}
