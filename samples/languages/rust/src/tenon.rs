//! The part of `tenon.h` that this plugin uses, declared by hand. The order of the members of a table is part of the
//! contract, so a function that is not used here has a placeholder, `Unused`.
//!
//! Below the tables are safe wrappers: `Value` releases its reference, and a status becomes a `Result`.

use std::ffi::{c_void, CString};
use std::os::raw::c_char;
use std::sync::atomic::{AtomicPtr, Ordering};

/* ---- The tables ---- */

type Unused = *const c_void;
pub type Raw = *const c_void; // tn_value
pub type Task = u64;
pub type Binder = *mut c_void;

#[repr(C)]
pub struct Host {
    pub size: u32,
    pub reserved: u32,
    pub this: *mut c_void,
    pub get: unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_void,
}

#[repr(C)]
pub struct Plugin {
    pub size: u32,
    pub reserved: u32,
    pub this: *mut c_void,
    pub get: extern "C" fn(*mut c_void, *const c_char) -> *const c_void,
}

#[repr(C)]
pub struct Component {
    pub size: u32,
    pub reserved: u32,
    pub create: unsafe extern "C" fn(*mut c_void, *const c_char, Raw, Binder, *mut *mut c_void) -> i32,
    pub start: unsafe extern "C" fn(*mut c_void, Task, Raw) -> i32,
    pub cancel: Option<unsafe extern "C" fn(*mut c_void, Task)>,
    pub ready: Option<unsafe extern "C" fn(*mut c_void, Task)>,
    pub destroy: unsafe extern "C" fn(*mut c_void),
}

#[repr(C)]
struct ValueTable {
    size: u32,
    reserved: u32,
    retain: Unused,
    release: unsafe extern "C" fn(Raw),
    kind: [Unused; 4], // kind, as_bool, as_int, as_double
    as_text: unsafe extern "C" fn(Raw, *mut u64) -> *const c_char,
    as_bytes: [Unused; 3], // as_bytes, count, at
    get: unsafe extern "C" fn(Raw, *const c_char) -> Raw,
    entry: [Unused; 4], // entry, equal, make_null, make_bool
    make_int: unsafe extern "C" fn(i64) -> Raw,
    make_double: Unused,
    make_text: unsafe extern "C" fn(*const c_char, u64) -> Raw,
    make_bytes: [Unused; 2], // make_bytes, append
    set: unsafe extern "C" fn(Raw, *const c_char, Raw) -> Raw,
    builder: [Unused; 6], // builder, begin, key, add, end, finish
    from_json: unsafe extern "C" fn(*const c_char, u64, *mut Raw) -> i32,
    to_json: Unused,
}

#[repr(C)]
struct TaskTable {
    size: u32,
    reserved: u32,
    complete: unsafe extern "C" fn(Task, Raw) -> i32,
    fail: unsafe extern "C" fn(Task, *const c_char, *const c_char, Raw) -> i32,
    interrupt: Unused,
    emit: unsafe extern "C" fn(Task, Raw) -> i32,
    cancelled: [Unused; 2], // cancelled, context
    read: unsafe extern "C" fn(Task, u32) -> Raw,
    write: unsafe extern "C" fn(Task, u32, Raw) -> i32,
    call: [Unused; 2], // call, call_wait
    bind_read: unsafe extern "C" fn(Binder, *const c_char, *mut u32) -> i32,
    bind_write: unsafe extern "C" fn(Binder, *const c_char, *mut u32) -> i32,
    bind_call: Unused,
    refuse: unsafe extern "C" fn(Binder, *const c_char, *const c_char) -> i32,
}

// The header has the same checks: no padding.
const _: () = assert!(std::mem::size_of::<Host>() == 8 + 8 * 2);
const _: () = assert!(std::mem::size_of::<Plugin>() == 8 + 8 * 2);
const _: () = assert!(std::mem::size_of::<ValueTable>() == 8 + 8 * 29);
const _: () = assert!(std::mem::size_of::<Component>() == 8 + 8 * 5);
const _: () = assert!(std::mem::size_of::<TaskTable>() == 8 + 8 * 14);

// The table is constant. The owner of `this` is responsible for the thread safety of its target.
unsafe impl Sync for Plugin {}

pub const OK: i32 = 0;
pub const ERROR: i32 = -1;
pub const NOT_FOUND: i32 = -4;
pub const NO_MEMORY: i32 = -6;

/* ---- The host's tables ---- */

static VALUES: AtomicPtr<ValueTable> = AtomicPtr::new(std::ptr::null_mut());
static TASKS: AtomicPtr<TaskTable> = AtomicPtr::new(std::ptr::null_mut());

/// Looks up the interfaces that this plugin needs; false if the host lacks one.
///
/// # Safety
/// `host` must be the argument of the entry.
pub unsafe fn connect(host: *const Host) -> bool {
    let get = |id: &[u8]| ((*host).get)((*host).this, id.as_ptr().cast()) as *mut c_void;
    VALUES.store(get(b"tenon.value/1\0").cast(), Ordering::Release);
    TASKS.store(get(b"tenon.task/1\0").cast(), Ordering::Release);
    !VALUES.load(Ordering::Acquire).is_null() && !TASKS.load(Ordering::Acquire).is_null()
}

fn values() -> &'static ValueTable {
    unsafe { VALUES.load(Ordering::Acquire).as_ref() }.expect("the host calls the entry first")
}

fn tasks() -> &'static TaskTable {
    unsafe { TASKS.load(Ordering::Acquire).as_ref() }.expect("the host calls the entry first")
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

/// A C string for the host, cut at the first NUL. Names and messages contain no NUL.
fn c_text(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}

/// One reference to a value.
pub struct Value(Raw);

impl Value {
    fn owned(raw: Raw) -> Result<Value> {
        if raw.is_null() {
            Err(Error::Refused(NO_MEMORY))
        } else {
            Ok(Value(raw))
        }
    }

    pub fn text(text: &str) -> Result<Value> {
        Value::owned(unsafe { (values().make_text)(text.as_ptr().cast(), text.len() as u64) })
    }

    pub fn int(number: usize) -> Result<Value> {
        Value::owned(unsafe { (values().make_int)(number as i64) })
    }

    /// Returns an object with these members.
    pub fn object<const N: usize>(members: [(&str, Value); N]) -> Result<Value> {
        let mut raw: Raw = std::ptr::null();
        must(unsafe { (values().from_json)(b"{}".as_ptr().cast(), 2, &mut raw) })?;
        members.iter().try_fold(Value(raw), |object, (key, value)| {
            Value::owned(unsafe { (values().set)(object.0, c_text(key).as_ptr(), value.0) })
        })
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
        unsafe { text_of((values().get)(self.0, c_text(key).as_ptr())) }
    }
}

/// A running task.
#[derive(Clone, Copy)]
pub struct Running(pub Task);

impl Running {
    /// Reads the text of a channel.
    pub fn read(&self, channel: u32) -> Result<String> {
        let value = Value(unsafe { (tasks().read)(self.0, channel) });
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
        unsafe { (tasks().fail)(self.0, c_text(code).as_ptr(), c_text(message).as_ptr(), std::ptr::null()) }
    }
}

/// Binds the names of channels in `create`.
#[derive(Clone, Copy)]
pub struct Names(pub Binder);

impl Names {
    pub fn read(&self, channel: &str) -> Result<u32> {
        let mut index = 0;
        must(unsafe { (tasks().bind_read)(self.0, c_text(channel).as_ptr(), &mut index) })?;
        Ok(index)
    }

    pub fn write(&self, channel: &str) -> Result<u32> {
        let mut index = 0;
        must(unsafe { (tasks().bind_write)(self.0, c_text(channel).as_ptr(), &mut index) })?;
        Ok(index)
    }

    pub fn refuse(&self, code: &str, message: &str) -> i32 {
        unsafe { (tasks().refuse)(self.0, c_text(code).as_ptr(), c_text(message).as_ptr()) }
    }
}
