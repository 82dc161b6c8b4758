//! The plugin @ID@: a store in one file of JSON lines.
//!
//! This file has the interface of `tenon/store.h`, `request.rs` checks requests, `store.rs` has the records. The
//! interface is a draft: the operator allows it with `plugins: {drafts: [@ID@]}`.

mod request;
mod store;
mod tenon;

use std::cell::Cell;
use std::ffi::c_void;
use store::{Failure, Store};
use tenon::{Borrowed, Raw, Value};

tenon::plugin!("../manifest.json", provide "tenon.store/1-draft.3" => &STORES);

#[repr(C)]
struct StoreTable {
    size: u64,
    open: unsafe extern "C" fn(*mut c_void, Raw, *mut *mut Store, *mut Raw) -> i32,
    close: unsafe extern "C" fn(*mut Store),
    commit: unsafe extern "C" fn(*mut Store, Raw, *mut Raw, *mut Raw) -> i32,
    query: unsafe extern "C" fn(*mut Store, Raw, *mut Raw, *mut Raw) -> i32,
    maintain: unsafe extern "C" fn(*mut Store, *mut Raw, *mut Raw) -> i32,
}

static STORES: StoreTable =
    StoreTable { size: std::mem::size_of::<StoreTable>() as u64, open, close, commit, query, maintain };

/// Runs the body of a function. Passes its result to `done`, or an error object to `error`.
unsafe fn answer<T>(error: *mut Raw, body: impl FnOnce() -> Result<T, Failure>, done: impl FnOnce(T)) -> i32 {
    let failed = Cell::new(None);
    let status = tenon::barrier(
        || {
            match body() {
                Ok(result) => done(result),
                Err(Failure::Host(why)) => return Err(why),
                Err(failure) => failed.set(Some(failure.into_value()?)),
            }
            Ok(())
        },
        |code, message| {
            failed.set(Value::error(if code == "PANIC" { "STORE_ERROR" } else { code }, message).ok());
            tenon::FAILED
        },
    );
    match failed.into_inner() {
        Some(value) => {
            *error = value.into_raw();
            tenon::FAILED
        }
        None => status,
    }
}

unsafe extern "C" fn open(_this: *mut c_void, options: Raw, store: *mut *mut Store, error: *mut Raw) -> i32 {
    let body = || Store::open(Borrowed::new(options));
    answer(error, body, |opened| *store = Box::into_raw(Box::new(opened)))
}

unsafe extern "C" fn close(store: *mut Store) {
    if !store.is_null() {
        tenon::barrier(
            || {
                drop(Box::from_raw(store));
                Ok(())
            },
            |_, _| tenon::ERROR,
        );
    }
}

unsafe extern "C" fn commit(store: *mut Store, batch: Raw, result: *mut Raw, error: *mut Raw) -> i32 {
    answer(error, || (*store).commit(Borrowed::new(batch)), |value| *result = value.into_raw())
}

unsafe extern "C" fn query(store: *mut Store, query: Raw, result: *mut Raw, error: *mut Raw) -> i32 {
    answer(error, || (*store).query(Borrowed::new(query)), |value| *result = value.into_raw())
}

unsafe extern "C" fn maintain(store: *mut Store, result: *mut Raw, error: *mut Raw) -> i32 {
    answer(error, || (*store).maintain(), |value| *result = value.into_raw())
}
