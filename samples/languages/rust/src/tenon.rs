//! The part of `tenon.h` that this plugin uses, declared by hand. The order of the members of a table is part of the
//! contract, so a function that is not used here has a placeholder, `Unused`.
//!
//! Below the tables are safe wrappers: `Value` releases its reference, and a status becomes a `Result`.

use std::ffi::c_void;
use std::os::raw::c_char;
use std::sync::atomic::{AtomicPtr, Ordering};

/* ---- The tables ---- */

type Unused = *const c_void;
pub type Raw = *const c_void; // tn_value
pub type Task = u64;
pub type Binder = *mut c_void;

#[repr(C)]
pub struct Host {
    pub size: u64,
    pub this: *mut c_void,
    pub get: unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_void,
}

#[repr(C)]
pub struct Plugin {
    pub size: u64,
    pub this: *mut c_void,
    pub get: extern "C" fn(*mut c_void, *const c_char) -> *const c_void,
}

#[repr(C)]
pub struct Component {
    pub size: u64,
    pub create: unsafe extern "C" fn(*mut c_void, *const c_char, u64, Raw, Binder, *mut *mut c_void) -> i32,
    pub start: unsafe extern "C" fn(*mut c_void, Task, Raw) -> i32,
    pub cancel: Option<unsafe extern "C" fn(*mut c_void, Task)>,
    pub ready: Option<unsafe extern "C" fn(*mut c_void, Task)>,
    pub destroy: unsafe extern "C" fn(*mut c_void),
}

#[repr(C)]
struct ValueTable {
    size: u64,
    retain: Unused,
    release: unsafe extern "C" fn(Raw),
    kind: [Unused; 4], // kind, as_bool, as_int, as_double
    as_text: unsafe extern "C" fn(Raw, *mut u64) -> *const c_char,
    as_bytes: [Unused; 3], // as_bytes, count, at
    get: unsafe extern "C" fn(Raw, *const c_char, u64) -> Raw,
    entry: [Unused; 4], // entry, equal, make_null, make_bool
    make_int: unsafe extern "C" fn(*const Host, i64) -> Raw,
    make_double: Unused,
    make_text: unsafe extern "C" fn(*const Host, *const c_char, u64, *mut Raw) -> i32,
    make_bytes: Unused,
    set: unsafe extern "C" fn(*mut Raw, *const c_char, u64, Raw) -> i32,
    remove: [Unused; 5],  // remove, append, splice, concat, slice
    builder: [Unused; 7], // builder, begin, key, add, add_text, end, finish
    from_json: unsafe extern "C" fn(*const Host, *const c_char, u64, *mut Raw, *mut Raw) -> i32,
    to_json: Unused,
}

#[repr(C)]
struct CoreTable {
    size: u64,
    log: [Unused; 8], // log, wall_ms, monotonic_ns, alloc, resize, release, post, unpost
    refuse: unsafe extern "C" fn(*const Host, Raw) -> i32,
}

#[repr(C)]
struct TaskTable {
    size: u64,
    complete: unsafe extern "C" fn(Task, Raw) -> i32,
    fail: unsafe extern "C" fn(Task, Raw) -> i32,
    interrupt: Unused,
    emit: unsafe extern "C" fn(Task, Raw) -> i32,
    cancelled: [Unused; 2], // cancelled, context
    read: unsafe extern "C" fn(Task, u32, *mut Raw) -> i32,
    write: unsafe extern "C" fn(Task, u32, Raw) -> i32,
    call: [Unused; 4], // call, cancel_call, resume_call, call_wait
    bind_read: unsafe extern "C" fn(Binder, *const c_char, u64, *mut u32) -> i32,
    bind_write: unsafe extern "C" fn(Binder, *const c_char, u64, *mut u32) -> i32,
    bind_call: Unused,
}

// The header has the same checks: no padding.
const _: () = assert!(std::mem::size_of::<Host>() == 8 + 8 * 2);
const _: () = assert!(std::mem::size_of::<Plugin>() == 8 + 8 * 2);
const _: () = assert!(std::mem::size_of::<ValueTable>() == 8 + 8 * 34);
const _: () = assert!(std::mem::size_of::<Component>() == 8 + 8 * 5);
const _: () = assert!(std::mem::size_of::<TaskTable>() == 8 + 8 * 15);
const _: () = assert!(std::mem::size_of::<CoreTable>() == 8 + 8 * 9);

// The table is constant. The owner of `this` is responsible for the thread safety of its target.
unsafe impl Sync for Plugin {}

pub const OK: i32 = 0;
pub const ERROR: i32 = -1;
pub const NOT_FOUND: i32 = -4;
pub const NO_MEMORY: i32 = -6;

/* ---- The host's tables ---- */

static HOST: AtomicPtr<Host> = AtomicPtr::new(std::ptr::null_mut());
static VALUES: AtomicPtr<ValueTable> = AtomicPtr::new(std::ptr::null_mut());
static TASKS: AtomicPtr<TaskTable> = AtomicPtr::new(std::ptr::null_mut());
static CORE: AtomicPtr<CoreTable> = AtomicPtr::new(std::ptr::null_mut());

/// Looks up the interfaces that this plugin needs; false if the host lacks one.
///
/// # Safety
/// `host` must be the argument of the entry.
pub unsafe fn connect(host: *const Host) -> bool {
    let get = |id: &[u8]| ((*host).get)((*host).this, id.as_ptr().cast()) as *mut c_void;
    let (values, tasks, core) = (get(b"tenon.value/1\0"), get(b"tenon.task/1\0"), get(b"tenon.core/1\0"));
    HOST.store(host as *mut Host, Ordering::Release);
    VALUES.store(values.cast(), Ordering::Release);
    TASKS.store(tasks.cast(), Ordering::Release);
    CORE.store(core.cast(), Ordering::Release);
    ![values, tasks, core].iter().any(|table| table.is_null())
}

fn host() -> *const Host {
    HOST.load(Ordering::Acquire)
}

fn values() -> &'static ValueTable {
    unsafe { VALUES.load(Ordering::Acquire).as_ref() }.expect("the host calls the entry first")
}

fn tasks() -> &'static TaskTable {
    unsafe { TASKS.load(Ordering::Acquire).as_ref() }.expect("the host calls the entry first")
}

fn core() -> &'static CoreTable {
    unsafe { CORE.load(Ordering::Acquire).as_ref() }.expect("the host calls the entry first")
}

/* ---- Safe wrappers ---- */

/// How an entry point fails.
pub enum Error {
    /// A call of the host failed: the entry point returns its status.
    Refused(i32),
    /// An expected failure of the task: a code and a message.
    Failure(&'static str, String),
}

pub type Result<T> = std::result::Result<T, Error>;

fn must(status: i32) -> Result<()> {
    if status == OK {
        Ok(())
    } else {
        Err(Error::Refused(status))
    }
}

/// One reference to a value.
pub struct Value(Raw);

impl Value {
    pub fn text(text: &str) -> Result<Value> {
        let mut raw: Raw = std::ptr::null();
        must(unsafe { (values().make_text)(host(), text.as_ptr().cast(), text.len() as u64, &mut raw) })?;
        Ok(Value(raw))
    }

    pub fn int(number: usize) -> Result<Value> {
        let raw = unsafe { (values().make_int)(host(), number as i64) };
        if raw.is_null() {
            Err(Error::Refused(NO_MEMORY))
        } else {
            Ok(Value(raw))
        }
    }

    /// Returns an object with these members.
    pub fn object<const N: usize>(members: [(&str, Value); N]) -> Result<Value> {
        let mut raw: Raw = std::ptr::null();
        must(unsafe { (values().from_json)(host(), b"{}".as_ptr().cast(), 2, &mut raw, std::ptr::null_mut()) })?;
        let mut object = Value(raw);
        for (key, value) in &members {
            // An edit consumes the reference to the object and stores one to the result.
            must(unsafe { (values().set)(&mut object.0, key.as_ptr().cast(), key.len() as u64, value.0) })?;
        }
        Ok(object)
    }

    /// Returns an error object.
    fn error(code: &str, message: &str) -> Result<Value> {
        Value::object([("code", Value::text(code)?), ("message", Value::text(message)?)])
    }
}

/// Passes an error object to `use_it`; a status.
fn failing(code: &str, message: &str, use_it: impl FnOnce(Raw) -> i32) -> i32 {
    match Value::error(code, message) {
        Ok(error) => use_it(error.0),
        Err(Error::Refused(status)) => status,
        Err(Error::Failure(..)) => ERROR,
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        unsafe { (values().release)(self.0) }
    }
}

/// Borrows the text of a value; `None` if the value is not a string. The value must outlive the result.
unsafe fn text_of<'a>(value: Raw) -> Option<&'a str> {
    let mut length = 0;
    let text = (values().as_text)(value, &mut length);
    if text.is_null() {
        return None;
    }
    let bytes = std::slice::from_raw_parts(text.cast::<u8>(), length as usize);
    Some(std::str::from_utf8(bytes).expect("the host's texts are UTF-8"))
}

/// A value that the host owns during a call.
#[derive(Clone, Copy)]
pub struct Borrowed(pub Raw);

impl Borrowed {
    pub fn member(&self, key: &str) -> Option<&str> {
        unsafe { text_of((values().get)(self.0, key.as_ptr().cast(), key.len() as u64)) }
    }
}

/// A running task.
#[derive(Clone, Copy)]
pub struct Running(pub Task);

impl Running {
    /// Reads the text of a channel.
    pub fn read(&self, channel: u32) -> Result<String> {
        let mut raw: Raw = std::ptr::null();
        must(unsafe { (tasks().read)(self.0, channel, &mut raw) })?;
        let value = Value(raw);
        let what = "the channel to read must hold a string";
        let text = unsafe { text_of(value.0) }.ok_or_else(|| Error::Failure("TYPE", what.into()))?;
        Ok(text.to_owned())
    }

    pub fn write(&self, channel: u32, value: &Value) -> Result<()> {
        must(unsafe { (tasks().write)(self.0, channel, value.0) })
    }

    pub fn emit(&self, chunk: &Value) -> Result<()> {
        must(unsafe { (tasks().emit)(self.0, chunk.0) })
    }

    pub fn complete(&self, output: Option<Value>) -> Result<()> {
        must(unsafe { (tasks().complete)(self.0, output.as_ref().map_or(std::ptr::null(), |value| value.0)) })
    }

    pub fn fail(&self, code: &str, message: &str) -> i32 {
        failing(code, message, |error| unsafe { (tasks().fail)(self.0, error) })
    }
}

/// Binds the names of channels in `create`.
#[derive(Clone, Copy)]
pub struct Names(pub Binder);

impl Names {
    pub fn read(&self, channel: &str) -> Result<u32> {
        let mut index = 0;
        must(unsafe { (tasks().bind_read)(self.0, channel.as_ptr().cast(), channel.len() as u64, &mut index) })?;
        Ok(index)
    }

    pub fn write(&self, channel: &str) -> Result<u32> {
        let mut index = 0;
        must(unsafe { (tasks().bind_write)(self.0, channel.as_ptr().cast(), channel.len() as u64, &mut index) })?;
        Ok(index)
    }
}

/// Reports why `create` fails.
pub fn refuse(code: &str, message: &str) -> i32 {
    failing(code, message, |error| unsafe { (core().refuse)(host(), error) })
}
