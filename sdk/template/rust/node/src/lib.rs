//! The plugin @ID@: a node that counts the words of a text.

mod tenon;

use tenon::{Borrowed, Component, Names, Result, Running, Value};

tenon::plugin!("../manifest.json", "@ID@.words" => Words);

/// A node: the indices of the channels that it uses.
struct Words {
    from: u32,
    to: u32,
}

impl Component for Words {
    fn create(config: Borrowed, names: Names) -> Result<Words> {
        let name = |key| config.member_text(key).expect("the host has validated the configuration");
        Ok(Words { from: names.read(name("input_key"))?, to: names.write(name("output_key"))? })
    }

    fn run(&self, task: Running, _input: Borrowed) -> Result<()> {
        let text = task.read_text(self.from)?;
        task.write(self.to, &Value::int(text.split_whitespace().count() as i64)?)?;
        task.complete(None)
    }
}
