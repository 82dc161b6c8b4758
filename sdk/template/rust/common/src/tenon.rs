//! The part of `tenon.h` that plugins use most, declared by hand. The order of the members of a table is part of the
//! contract, so a function without a wrapper here has a placeholder, `Unused`.
//!
//! Below the tables are safe wrappers: `Value` releases its reference, a status becomes a `Result`, and a panic becomes
//! a failed task or a refused configuration, because the host's frames cannot unwind. `plugin!` makes the entry and the
//! note of the manifest.

#![allow(dead_code)] // no plugin needs all wrappers

use std::cell::RefCell;
use std::ffi::{c_void, CStr};
use std::marker::PhantomData;
use std::os::raw::c_char;
use std::panic::{self, AssertUnwindSafe};
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

pub type Create = unsafe extern "C" fn(*mut c_void, *const c_char, u64, Raw, Binder, *mut *mut c_void) -> i32;

#[repr(C)]
pub struct ComponentTable {
    size: u64,
    create: Create,
    start: unsafe extern "C" fn(*mut c_void, Task, Raw) -> i32,
    cancel: Option<unsafe extern "C" fn(*mut c_void, Task)>,
    ready: Option<unsafe extern "C" fn(*mut c_void, Task)>,
    destroy: unsafe extern "C" fn(*mut c_void),
}

#[repr(C)]
struct ValueTable {
    size: u64,
    retain: unsafe extern "C" fn(Raw) -> Raw,
    release: unsafe extern "C" fn(Raw),
    kind: unsafe extern "C" fn(Raw) -> i32,
    as_bool: unsafe extern "C" fn(Raw, *mut i32) -> i32,
    as_int: unsafe extern "C" fn(Raw, *mut i64) -> i32,
    as_double: unsafe extern "C" fn(Raw, *mut f64) -> i32,
    as_text: unsafe extern "C" fn(Raw, *mut u64) -> *const c_char,
    as_bytes: Unused,
    count: unsafe extern "C" fn(Raw) -> u64,
    at: unsafe extern "C" fn(Raw, u64) -> Raw,
    get: unsafe extern "C" fn(Raw, *const c_char, u64) -> Raw,
    entry: unsafe extern "C" fn(Raw, u64, *mut Raw, *mut Raw) -> i32,
    equal: unsafe extern "C" fn(Raw, Raw) -> i32,
    make: [Unused; 2], // make_null, make_bool
    make_int: unsafe extern "C" fn(*const Host, i64) -> Raw,
    make_double: Unused,
    make_text: unsafe extern "C" fn(*const Host, *const c_char, u64, *mut Raw) -> i32,
    make_bytes: Unused,
    set: unsafe extern "C" fn(*mut Raw, *const c_char, u64, Raw) -> i32,
    remove: unsafe extern "C" fn(*mut Raw, *const c_char, u64) -> i32,
    append: unsafe extern "C" fn(*mut Raw, Raw) -> i32,
    splice: [Unused; 3],  // splice, concat, slice
    builder: [Unused; 7], // builder, begin, key, add, add_text, end, finish
    from_json: unsafe extern "C" fn(*const Host, *const c_char, u64, *mut Raw, *mut Raw) -> i32,
    to_json: unsafe extern "C" fn(Raw, Raw, *mut Raw) -> i32,
}

#[repr(C)]
struct CoreTable {
    size: u64,
    log: unsafe extern "C" fn(*const Host, i32, *const c_char, u64),
    wall_ms: unsafe extern "C" fn(*const Host) -> i64,
    unused: [Unused; 6], // monotonic_ns, alloc, resize, release, post, unpost
    refuse: unsafe extern "C" fn(*const Host, Raw) -> i32,
}

#[repr(C)]
struct TaskTable {
    size: u64,
    complete: unsafe extern "C" fn(Task, Raw) -> i32,
    fail: unsafe extern "C" fn(Task, Raw) -> i32,
    interrupt: Unused,
    emit: unsafe extern "C" fn(Task, Raw) -> i32,
    cancelled: unsafe extern "C" fn(Task) -> i32,
    context: Unused,
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
const _: () = assert!(std::mem::size_of::<ComponentTable>() == 8 + 8 * 5);
const _: () = assert!(std::mem::size_of::<TaskTable>() == 8 + 8 * 15);
const _: () = assert!(std::mem::size_of::<CoreTable>() == 8 + 8 * 9);

// The tables are constant. The owner of `this` is responsible for the thread safety of its target.
unsafe impl Sync for Plugin {}

/* The kinds of values. */
pub const NULL: i32 = 1;
pub const BOOL: i32 = 2;
pub const STRING: i32 = 5;
pub const ARRAY: i32 = 7;
pub const OBJECT: i32 = 8;

/* Statuses. */
pub const OK: i32 = 0;
pub const ERROR: i32 = -1;
pub const NOT_FOUND: i32 = -4;
pub const NO_MEMORY: i32 = -6;
pub const FAILED: i32 = -12;

/* ---- The host's tables ---- */

static HOST: AtomicPtr<Host> = AtomicPtr::new(std::ptr::null_mut());
static VALUES: AtomicPtr<ValueTable> = AtomicPtr::new(std::ptr::null_mut());
static TASKS: AtomicPtr<TaskTable> = AtomicPtr::new(std::ptr::null_mut());
static CORE: AtomicPtr<CoreTable> = AtomicPtr::new(std::ptr::null_mut());

/// The interfaces that `connect` looks up, as a second note of the manifest.
pub const REQUIRES: &[u8] = br#"{"plugin": {"requires": ["tenon.core/1", "tenon.task/1", "tenon.value/1"]}}"#;

/// Looks up the interfaces that this plugin needs; false if the host lacks one.
unsafe fn connect(host: *const Host) -> bool {
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

/* ---- Values ---- */

/// How an entry point fails.
pub enum Error {
    /// A call of the host failed: the entry point returns its status.
    Refused(i32),
    /// An expected failure: a code in upper case and a message.
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

/// Milliseconds since 1970 UTC, by the clock of the host.
pub fn wall_ms() -> i64 {
    unsafe { (core().wall_ms)(host()) }
}

/// A value that someone else owns.
#[derive(Clone, Copy)]
pub struct Borrowed<'a>(Raw, PhantomData<&'a ()>);

impl<'a> Borrowed<'a> {
    /// # Safety
    /// The value must outlive the result.
    pub unsafe fn new(raw: Raw) -> Self {
        Borrowed(raw, PhantomData)
    }

    fn some(raw: Raw) -> Option<Self> {
        (!raw.is_null()).then_some(Borrowed(raw, PhantomData))
    }

    /// The text of a string.
    pub fn text(&self) -> Option<&'a str> {
        let mut length = 0;
        let text = unsafe { (values().as_text)(self.0, &mut length) };
        if text.is_null() {
            return None;
        }
        let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length as usize) };
        Some(std::str::from_utf8(bytes).expect("the host's texts are UTF-8"))
    }

    pub fn int(&self) -> Option<i64> {
        let mut number = 0;
        (unsafe { (values().as_int)(self.0, &mut number) } == OK).then_some(number)
    }

    pub fn bool(&self) -> Option<bool> {
        let mut truth = 0;
        (unsafe { (values().as_bool)(self.0, &mut truth) } == OK).then_some(truth != 0)
    }

    pub fn number(&self) -> Option<f64> {
        let mut number = 0.0;
        (unsafe { (values().as_double)(self.0, &mut number) } == OK).then_some(number)
    }

    /// One of the constants below.
    pub fn kind(&self) -> i32 {
        unsafe { (values().kind)(self.0) }
    }

    /// Deep; 1 equals 1.0, and the order of members is ignored.
    pub fn equals(&self, other: Borrowed) -> bool {
        unsafe { (values().equal)(self.0, other.0) == 1 }
    }

    /// Compact JSON.
    pub fn json(&self) -> Result<String> {
        let mut raw: Raw = std::ptr::null();
        must(unsafe { (values().to_json)(self.0, std::ptr::null(), &mut raw) })?;
        Ok(Value(raw).borrow().text().expect("JSON is a string").to_owned())
    }

    /// Items of an array, or members of an object; 0 for any other value.
    pub fn count(&self) -> u64 {
        unsafe { (values().count)(self.0) }
    }

    pub fn at(&self, index: u64) -> Option<Self> {
        Borrowed::some(unsafe { (values().at)(self.0, index) })
    }

    /// The items of an array.
    pub fn items(self) -> impl DoubleEndedIterator<Item = Borrowed<'a>> {
        (0..self.count()).filter_map(move |index| self.at(index))
    }

    /// The members of an object.
    pub fn members(self) -> impl Iterator<Item = (&'a str, Borrowed<'a>)> {
        (0..self.count()).filter_map(move |index| {
            let (mut key, mut value): (Raw, Raw) = (std::ptr::null(), std::ptr::null());
            let found = unsafe { (values().entry)(self.0, index, &mut key, &mut value) } == OK;
            found.then_some(())?;
            Some((Borrowed::some(key)?.text()?, Borrowed::some(value)?))
        })
    }

    /// The member of an object.
    pub fn member(&self, key: &str) -> Option<Self> {
        Borrowed::some(unsafe { (values().get)(self.0, key.as_ptr().cast(), key.len() as u64) })
    }

    pub fn member_text(&self, key: &str) -> Option<&'a str> {
        self.member(key).and_then(|value| value.text())
    }

    pub fn owned(&self) -> Value {
        Value(unsafe { (values().retain)(self.0) })
    }
}

/// One reference to a value.
pub struct Value(Raw);

// Values are immutable, and their references are counted atomically.
unsafe impl Send for Value {}
unsafe impl Sync for Value {}

impl Value {
    pub fn text(text: &str) -> Result<Value> {
        let mut raw: Raw = std::ptr::null();
        must(unsafe { (values().make_text)(host(), text.as_ptr().cast(), text.len() as u64, &mut raw) })?;
        Ok(Value(raw))
    }

    pub fn int(number: i64) -> Result<Value> {
        let raw = unsafe { (values().make_int)(host(), number) };
        if raw.is_null() {
            Err(Error::Refused(NO_MEMORY))
        } else {
            Ok(Value(raw))
        }
    }

    /// The value of a JSON text.
    pub fn json(json: &str) -> Result<Value> {
        let mut raw: Raw = std::ptr::null();
        let (text, length) = (json.as_ptr().cast(), json.len() as u64);
        must(unsafe { (values().from_json)(host(), text, length, &mut raw, std::ptr::null_mut()) })?;
        Ok(Value(raw))
    }

    /// Sets a member of an object, which is changed in place if nothing else refers to it.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<()> {
        must(unsafe { (values().set)(&mut self.0, key.as_ptr().cast(), key.len() as u64, value.0) })
    }

    /// Removes a member of an object, if there is one.
    pub fn remove(&mut self, key: &str) -> Result<()> {
        match unsafe { (values().remove)(&mut self.0, key.as_ptr().cast(), key.len() as u64) } {
            NOT_FOUND => Ok(()),
            status => must(status),
        }
    }

    pub fn array(items: impl IntoIterator<Item = Value>) -> Result<Value> {
        let mut array = Value::json("[]")?;
        for item in items {
            // An edit consumes the reference to the array and stores one to the result.
            must(unsafe { (values().append)(&mut array.0, item.0) })?;
        }
        Ok(array)
    }

    pub fn object<const N: usize>(members: [(&str, Value); N]) -> Result<Value> {
        let mut object = Value::json("{}")?;
        for (key, value) in &members {
            object.set(key, value)?;
        }
        Ok(object)
    }

    pub fn borrow(&self) -> Borrowed<'_> {
        Borrowed(self.0, PhantomData)
    }

    /// {code, message}.
    pub fn error(code: &str, message: &str) -> Result<Value> {
        Value::object([("code", Value::text(code)?), ("message", Value::text(message)?)])
    }

    pub fn into_raw(self) -> Raw {
        let raw = self.0;
        std::mem::forget(self);
        raw
    }
}

impl Clone for Value {
    fn clone(&self) -> Self {
        self.borrow().owned()
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        unsafe { (values().release)(self.0) }
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

/* ---- Tasks ---- */

/// A running task.
#[derive(Clone, Copy)]
pub struct Running(pub Task);

impl Running {
    /// The text of a channel, by the index that `Names::read` returned.
    pub fn read_text(&self, channel: u32) -> Result<String> {
        let mut raw: Raw = std::ptr::null();
        must(unsafe { (tasks().read)(self.0, channel, &mut raw) })?;
        let value = Value(raw);
        let text = value.borrow().text().map(str::to_owned);
        text.ok_or_else(|| Error::Failure("TYPE", "the channel to read must hold a string".into()))
    }

    pub fn write(&self, channel: u32, value: &Value) -> Result<()> {
        must(unsafe { (tasks().write)(self.0, channel, value.0) })
    }

    /// Emits a chunk. In a blocking component, it waits until the host accepts the chunk.
    pub fn emit(&self, chunk: &Value) -> Result<()> {
        must(unsafe { (tasks().emit)(self.0, chunk.0) })
    }

    /// True if the task should end soon.
    pub fn cancelled(&self) -> bool {
        unsafe { (tasks().cancelled)(self.0) != 0 }
    }

    pub fn complete(&self, output: Option<Value>) -> Result<()> {
        must(unsafe { (tasks().complete)(self.0, output.as_ref().map_or(std::ptr::null(), |value| value.0)) })
    }

    fn fail(&self, code: &str, message: &str) -> i32 {
        failing(code, message, |error| unsafe { (tasks().fail)(self.0, error) })
    }
}

/// Binds the names of channels in `create`.
#[derive(Clone, Copy)]
pub struct Names(Binder);

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

/* ---- Panics ---- */

thread_local! {
    /// The position and message of this thread's last panic.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps the panic's message for the failed task. The default hook would print it to the host's standard error.
fn save_panic(payload: &dyn std::any::Any, location: Option<&panic::Location>) {
    let text = payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref().copied());
    let place = location.map_or_else(String::new, |at| format!("{}:{}: ", at.file(), at.line()));
    PANIC.with(|panic| *panic.borrow_mut() = place + text.unwrap_or("the panic has no text"));
}

/// Runs the body of an entry point. Passes an error or a panic to `fail` as a code and a message.
pub fn barrier(body: impl FnOnce() -> Result<()>, fail: impl FnOnce(&str, &str) -> i32) -> i32 {
    match panic::catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => OK,
        Ok(Err(Error::Refused(status))) => status,
        Ok(Err(Error::Failure(code, message))) => fail(code, &message),
        Err(payload) => {
            std::mem::forget(payload); // its destructor may panic too
            fail("PANIC", &PANIC.with(RefCell::take))
        }
    }
}

/* ---- Components ---- */

/// A component of style `blocking`: `run` is called on a worker thread, and ends the task with `complete` or an error.
pub trait Component {
    fn create(config: Borrowed, names: Names) -> Result<Self>
    where
        Self: Sized;
    fn run(&self, task: Running, input: Borrowed) -> Result<()>;
}

pub type Make = fn(&[u8], Borrowed, Names) -> Result<Box<dyn Component>>;

/// # Safety
/// The arguments are those of `tn_component_1.create`.
pub unsafe fn create(
    make: Make,
    id: *const c_char,
    length: u64,
    config: Raw,
    binder: Binder,
    instance: *mut *mut c_void,
) -> i32 {
    let body = || {
        let id = std::slice::from_raw_parts(id.cast::<u8>(), length as usize);
        let made = make(id, Borrowed::new(config), Names(binder))?;
        // A pointer to a trait object has two words, so a second box holds it.
        *instance = Box::into_raw(Box::new(made)).cast();
        Ok(())
    };
    barrier(body, |code, message| failing(code, message, |error| (core().refuse)(host(), error)))
}

unsafe extern "C" fn start(instance: *mut c_void, task: Task, input: Raw) -> i32 {
    let component = &*instance.cast::<Box<dyn Component>>();
    let body = || component.run(Running(task), Borrowed::new(input));
    barrier(body, |code, message| Running(task).fail(code, message))
}

unsafe extern "C" fn destroy(instance: *mut c_void) {
    let body = || {
        drop(Box::from_raw(instance.cast::<Box<dyn Component>>()));
        Ok(())
    };
    barrier(body, |_, _| ERROR);
}

impl ComponentTable {
    pub const fn new(create: Create) -> Self {
        let size = std::mem::size_of::<ComponentTable>() as u64;
        ComponentTable { size, create, start, cancel: None, ready: None, destroy }
    }
}

/// # Safety
/// `id` is the argument of `tn_plugin.get`.
pub unsafe fn is_interface(id: *const c_char, name: &str) -> bool {
    CStr::from_ptr(id).to_bytes() == name.as_bytes()
}

/// # Safety
/// `host` is the argument of the entry.
pub unsafe fn enter(host: *const Host, plugin: &'static Plugin) -> *const Plugin {
    let mut connected = false;
    let body = || {
        connected = connect(host);
        panic::set_hook(Box::new(|info| save_panic(info.payload(), info.location())));
        Ok(())
    };
    barrier(body, |_, _| ERROR);
    if connected {
        plugin
    } else {
        std::ptr::null()
    }
}

/// The manifest as an ELF note, which the host reads without running the plugin.
#[repr(C)]
pub struct Note<const PADDED: usize> {
    name_size: u32,
    json_size: u32,
    kind: u32,
    owner: [u8; 8],
    json: [u8; PADDED],
}

impl<const PADDED: usize> Note<PADDED> {
    pub const fn new(manifest: &[u8]) -> Self {
        let mut json = [0; PADDED];
        let mut at = 0;
        while at < manifest.len() {
            json[at] = manifest[at];
            at += 1;
        }
        Note { name_size: 6, json_size: manifest.len() as u32, kind: 1, owner: *b"Tenon\0\0\0", json }
    }
}

/// The entry of the plugin, and the note of its manifest: `plugin!("../manifest.json", "acme.words" => Words);`.
/// `provide "tenon.store/1-draft.3" => &TABLE` adds an interface that the plugin provides.
macro_rules! plugin {
    ($manifest:literal $(, $id:literal => $component:ty)* $(, provide $interface:literal => $table:expr)* $(,)?) => {
        const MANIFEST: &[u8] = include_bytes!($manifest);

        #[used]
        #[link_section = ".note.tenon"]
        static NOTE: $crate::tenon::Note<{ (MANIFEST.len() + 3) & !3 }> = $crate::tenon::Note::new(MANIFEST);
        #[used]
        #[link_section = ".note.tenon"]
        static REQUIRES: $crate::tenon::Note<{ ($crate::tenon::REQUIRES.len() + 3) & !3 }> =
            $crate::tenon::Note::new($crate::tenon::REQUIRES);

        fn make(
            id: &[u8],
            config: $crate::tenon::Borrowed,
            names: $crate::tenon::Names,
        ) -> $crate::tenon::Result<Box<dyn $crate::tenon::Component>> {
            $(
                if id == $id.as_bytes() {
                    return Ok(Box::new(<$component as $crate::tenon::Component>::create(config, names)?));
                }
            )*
            let _ = (id, config, names);
            Err($crate::tenon::Error::Refused($crate::tenon::NOT_FOUND))
        }

        unsafe extern "C" fn create(
            _this: *mut std::ffi::c_void,
            id: *const std::os::raw::c_char,
            length: u64,
            config: $crate::tenon::Raw,
            binder: $crate::tenon::Binder,
            instance: *mut *mut std::ffi::c_void,
        ) -> i32 {
            $crate::tenon::create(make, id, length, config, binder, instance)
        }

        extern "C" fn get(_this: *mut std::ffi::c_void, id: *const std::os::raw::c_char) -> *const std::ffi::c_void {
            static COMPONENTS: $crate::tenon::ComponentTable = $crate::tenon::ComponentTable::new(create);
            $(
                if unsafe { $crate::tenon::is_interface(id, $interface) } {
                    return ($table as *const _ as *const std::ffi::c_void);
                }
            )*
            if unsafe { $crate::tenon::is_interface(id, "tenon.component/1") } {
                return (&COMPONENTS as *const $crate::tenon::ComponentTable).cast();
            }
            std::ptr::null()
        }

        /// # Safety
        /// Only the host calls this function, once, with its own table.
        #[no_mangle]
        pub unsafe extern "C" fn tn_plugin_entry_1(host: *const $crate::tenon::Host) -> *const $crate::tenon::Plugin {
            static PLUGIN: $crate::tenon::Plugin = $crate::tenon::Plugin {
                size: std::mem::size_of::<$crate::tenon::Plugin>() as u64,
                this: std::ptr::null_mut(),
                get,
            };
            $crate::tenon::enter(host, &PLUGIN)
        }
    };
}
pub(crate) use plugin;
