//! A plugin in Rust that uses only the standard library. `tenon.rs` has the contract, this file the components.
//!
//! A failure is an `Err`. A panic must not reach the host, because its frames cannot unwind: every entry point runs
//! inside `barrier`, which converts a panic to a failed task or a refused configuration. To demonstrate this, the word
//! `panic!` in the input triggers a deliberate error.

mod tenon;

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::{c_void, CStr};
use std::os::raw::c_char;
use std::panic::{self, AssertUnwindSafe};
use tenon::{Borrowed, Error, Names, Result, Running, Value};

/* ---- The manifest: an ELF note, which the host reads without running the plugin ---- */

const MANIFEST: &[u8] = include_bytes!("../manifest.json");
const PADDED: usize = (MANIFEST.len() + 3) & !3;

#[repr(C)]
struct Note {
    name_size: u32,
    json_size: u32,
    kind: u32,
    owner: [u8; 8],
    json: [u8; PADDED],
}

const fn padded() -> [u8; PADDED] {
    let mut json = [0; PADDED];
    let mut at = 0;
    while at < MANIFEST.len() {
        json[at] = MANIFEST[at];
        at += 1;
    }
    json
}

#[used]
#[link_section = ".note.tenon"]
static NOTE: Note =
    Note { name_size: 6, json_size: MANIFEST.len() as u32, kind: 1, owner: *b"Tenon\0\0\0", json: padded() };

/* ---- The components ---- */

/// Returns the words of a text, separated by blanks.
fn words_of(text: &str) -> Vec<&str> {
    let words: Vec<&str> = text.split([' ', '\t', '\r', '\n']).filter(|word| !word.is_empty()).collect();
    if let Some(at) = words.iter().position(|word| *word == "panic!") {
        let _ = words[at + words.len()]; // the deliberate error: index out of range
    }
    words
}

trait Component {
    fn run(&self, task: Running, input: Borrowed) -> Result<()>;
}

/// A blocking component: emit waits until the host accepts the chunk.
struct Count {
    from: u32,
    to: u32,
}

impl Count {
    fn new(config: Borrowed, names: Names) -> Result<Count> {
        let name = |key| config.member(key).expect("the host has validated it");
        Ok(Count { from: names.read(name("input_key"))?, to: names.write(name("output_key"))? })
    }
}

impl Component for Count {
    fn run(&self, task: Running, _input: Borrowed) -> Result<()> {
        let text = task.read(self.from)?;
        let words = words_of(&text);
        let mut seen = HashSet::new();
        for word in &words {
            if seen.insert(*word) {
                task.emit(&Value::object([("word", Value::text(word)?)])?)?;
            }
        }
        let (words, distinct) = (Value::int(words.len())?, Value::int(seen.len())?);
        task.write(self.to, &Value::object([("words", words), ("distinct", distinct)])?)?;
        task.complete(None)
    }
}

struct Title;

impl Component for Title {
    fn run(&self, task: Running, input: Borrowed) -> Result<()> {
        let text = input.member("text").expect("the host has validated it");
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

/* ---- The entry points ---- */

thread_local! {
    /// The position and message of this thread's last panic.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs the body of an entry point. Passes an error or a panic to `fail` as a code and a message.
fn barrier(body: impl FnOnce() -> Result<()>, fail: impl FnOnce(&str, &str) -> i32) -> i32 {
    match panic::catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => tenon::OK,
        Ok(Err(Error::Refused(status))) => status,
        Ok(Err(Error::Failure(code, message))) => fail(code, &message),
        Err(payload) => {
            // Do not drop the payload: its destructor may panic too.
            std::mem::forget(payload);
            fail("PANIC", &PANIC.with(RefCell::take))
        }
    }
}

/// Keeps the panic's message for the failed task. The default hook would print it to the host's standard error.
fn save_panic(payload: &dyn std::any::Any, location: Option<&panic::Location>) {
    let text = payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref().copied());
    let place = location.map_or_else(String::new, |at| format!("{}:{}: ", at.file(), at.line()));
    PANIC.with(|panic| *panic.borrow_mut() = place + text.unwrap_or("the panic has no text"));
}

unsafe extern "C" fn create(
    _this: *mut c_void,
    id: *const c_char,
    length: u64,
    config: tenon::Raw,
    binder: tenon::Binder,
    instance: *mut *mut c_void,
) -> i32 {
    let (config, names) = (Borrowed(config), Names(binder));
    let body = || {
        let made: Box<dyn Component> = match std::slice::from_raw_parts(id.cast::<u8>(), length as usize) {
            b"rust.count" => Box::new(Count::new(config, names)?),
            b"rust.title" => Box::new(Title),
            _ => return Err(Error::Refused(tenon::NOT_FOUND)),
        };
        // A pointer to a trait object has two words, so a second box holds it.
        *instance = Box::into_raw(Box::new(made)).cast();
        Ok(())
    };
    barrier(body, tenon::refuse)
}

unsafe extern "C" fn start(instance: *mut c_void, task: tenon::Task, input: tenon::Raw) -> i32 {
    let task = Running(task);
    let component = &*instance.cast::<Box<dyn Component>>();
    barrier(|| component.run(task, Borrowed(input)), |code, message| task.fail(code, message))
}

unsafe extern "C" fn destroy(instance: *mut c_void) {
    let body = || {
        drop(Box::from_raw(instance.cast::<Box<dyn Component>>()));
        Ok(())
    };
    barrier(body, |_, _| tenon::ERROR);
}

extern "C" fn get_interface(_this: *mut c_void, id: *const c_char) -> *const c_void {
    static COMPONENTS: tenon::Component = tenon::Component {
        size: std::mem::size_of::<tenon::Component>() as u64,
        create,
        start,
        cancel: None,
        ready: None,
        destroy,
    };
    if unsafe { CStr::from_ptr(id) }.to_bytes() == b"tenon.component/1" {
        (&COMPONENTS as *const tenon::Component).cast()
    } else {
        std::ptr::null()
    }
}

/// # Safety
/// Only the host calls this function, once, with its own table.
#[no_mangle]
pub unsafe extern "C" fn tn_plugin_entry_1(host: *const tenon::Host) -> *const tenon::Plugin {
    static PLUGIN: tenon::Plugin = tenon::Plugin {
        size: std::mem::size_of::<tenon::Plugin>() as u64,
        this: std::ptr::null_mut(),
        get: get_interface,
    };
    let connected = barrier(
        || {
            panic::set_hook(Box::new(|info| save_panic(info.payload(), info.location())));
            if tenon::connect(host) {
                Ok(())
            } else {
                Err(Error::Refused(tenon::ERROR))
            }
        },
        |_, _| tenon::ERROR,
    );
    if connected == tenon::OK {
        &PLUGIN
    } else {
        std::ptr::null()
    }
}
