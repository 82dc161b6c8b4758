//! Records in memory, and a file of JSON lines that has their changes.
//!
//! A line has the changes of one batch, so a batch is saved completely or not at all; `maintain` writes the file again
//! without what was changed or has expired. Several processes may use the file: a lock excludes them, and each reads
//! what the others have added. `tenon/store.h` describes batches, queries and filters.

use crate::request;
use crate::tenon::{self, Borrowed, Value};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::raw::c_int;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::io::AsRawFd;

const BEGIN: &[u8] = b"[[\""; // of each line
const LIST_LIMIT: i64 = 100;
const PAGE_BYTES: usize = 67_108_864; // of the values of a list

extern "C" {
    fn flock(descriptor: c_int, operation: c_int) -> c_int;
}
const LOCK_EXCLUSIVE: c_int = 2;
const LOCK_NONE: c_int = 8;

/* ---- Failures ---- */

pub enum Failure {
    Because { code: &'static str, message: String, detail: Option<Value> },
    Host(tenon::Error),
    File(std::io::Error),
}

type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub fn new(code: &'static str, message: impl Into<String>) -> Failure {
        Failure::Because { code, message: message.into(), detail: None }
    }

    /// Adds the name of the file, which errors of the system do not have.
    fn of_file(self, path: &str) -> Failure {
        let Failure::File(error) = self else {
            return self;
        };
        let code = match error.raw_os_error() {
            Some(27 | 28 | 122) => "STORE_FULL",    // EFBIG, ENOSPC, EDQUOT
            Some(1 | 13 | 30) => "STORE_READ_ONLY", // EPERM, EACCES, EROFS
            _ => "STORE_ERROR",
        };
        Failure::new(code, format!("{path}: {error}"))
    }

    pub fn into_value(self) -> tenon::Result<Value> {
        match self {
            Failure::Host(error) => Err(error),
            Failure::File(_) => self.of_file("the store").into_value(),
            Failure::Because { code, message, detail } => {
                let mut error = Value::error(code, &message)?;
                if let Some(detail) = detail {
                    error.set("detail", &detail)?;
                }
                Ok(error)
            }
        }
    }
}

impl From<tenon::Error> for Failure {
    fn from(error: tenon::Error) -> Failure {
        Failure::Host(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::File(error)
    }
}

/* ---- Values: members, filters, orders ---- */

/// The member at a path such as `payload.priority`.
fn member<'a>(value: Borrowed<'a>, path: &str) -> Option<Borrowed<'a>> {
    path.split('.').try_fold(value, |object, name| object.member(name))
}

/// JSON Merge Patch, RFC 7396.
fn merge(value: Option<Borrowed>, patch: Borrowed) -> Result<Value> {
    if patch.kind() != tenon::OBJECT {
        return Ok(patch.owned());
    }
    let mut result = match value {
        Some(object) if object.kind() == tenon::OBJECT => object.owned(),
        _ => Value::json("{}")?,
    };
    for (key, item) in patch.members() {
        if item.kind() == tenon::NULL {
            result.remove(key)?;
        } else {
            let merged = merge(value.and_then(|object| object.member(key)), item)?;
            result.set(key, &merged)?;
        }
    }
    Ok(result)
}

/// Numbers and strings are ordered, each among themselves.
fn compare(a: Option<Borrowed>, b: Borrowed) -> Option<Ordering> {
    let a = a?;
    if let (Some(a), Some(b)) = (a.text(), b.text()) {
        return Some(a.cmp(b));
    }
    if let (Some(a), Some(b)) = (a.int(), b.int()) {
        return Some(a.cmp(&b));
    }
    a.number()?.partial_cmp(&b.number()?)
}

fn holds(found: Option<Borrowed>, name: &str, wanted: Borrowed) -> Result<bool> {
    let equals = |other: Borrowed| found.map_or(other.kind() == tenon::NULL, |value| value.equals(other));
    let order = || compare(found, wanted);
    Ok(match name {
        "eq" => equals(wanted),
        "ne" => !equals(wanted),
        "lt" => order() == Some(Ordering::Less),
        "le" => matches!(order(), Some(Ordering::Less | Ordering::Equal)),
        "gt" => order() == Some(Ordering::Greater),
        "ge" => matches!(order(), Some(Ordering::Greater | Ordering::Equal)),
        "in" => wanted.items().any(equals),
        "exists" => wanted.bool() == Some(found.is_some()),
        "contains" => {
            found.map_or(false, |list| list.kind() == tenon::ARRAY && list.items().any(|item| item.equals(wanted)))
        }
        _ => unreachable!("the request has been checked"),
    })
}

fn matches(value: Borrowed, filter: Option<Borrowed>) -> Result<bool> {
    let Some(filter) = filter.filter(|filter| filter.kind() != tenon::NULL) else {
        return Ok(true);
    };
    for (path, wanted) in filter.members() {
        if path == "any" && wanted.kind() == tenon::ARRAY {
            let mut any = false;
            for one in wanted.items() {
                any = any || matches(value, Some(one))?;
            }
            if !any {
                return Ok(false);
            }
            continue;
        }
        let found = member(value, path);
        if wanted.kind() != tenon::OBJECT {
            if !holds(found, "eq", wanted)? {
                return Ok(false);
            }
            continue;
        }
        for (name, other) in wanted.members() {
            if !holds(found, name, other)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// A value's place in an order: nothing and null, then numbers, then strings; others as the string of their JSON.
enum Rank {
    Nothing,
    Number(f64, Option<i64>), // exact, if it is an integer
    Text(String),
}

impl Rank {
    fn of(value: Option<Borrowed>) -> Result<Rank> {
        Ok(match value {
            None => Rank::Nothing,
            Some(value) if value.kind() == tenon::NULL => Rank::Nothing,
            Some(value) => match (value.bool(), value.number(), value.text()) {
                (Some(truth), _, _) => Rank::Number(truth.into(), Some(truth.into())),
                (_, Some(number), _) => Rank::Number(number, value.int()),
                (_, _, Some(text)) => Rank::Text(text.to_owned()),
                _ => Rank::Text(value.json()?),
            },
        })
    }

    fn compare(&self, other: &Rank) -> Ordering {
        match (self, other) {
            (Rank::Number(_, Some(a)), Rank::Number(_, Some(b))) => a.cmp(b),
            (Rank::Number(a, _), Rank::Number(b, _)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
            (Rank::Text(a), Rank::Text(b)) => a.cmp(b),
            _ => self.class().cmp(&other.class()),
        }
    }

    fn class(&self) -> u8 {
        match self {
            Rank::Nothing => 0,
            Rank::Number(..) => 1,
            Rank::Text(_) => 2,
        }
    }
}

/// The place of a record in an order: the ranks of its members, then its key.
type Place = (Vec<Rank>, String);

fn compare_places(a: &Place, b: &Place) -> Ordering {
    let ranks = a.0.iter().zip(&b.0).map(|(a, b)| a.compare(b));
    ranks.fold(Ordering::Equal, Ordering::then).then_with(|| a.1.cmp(&b.1))
}

/// The words of a text, in lower case; an ideograph is a word.
fn words(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for c in text.to_lowercase().chars() {
        let ideograph = matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}');
        if ideograph || !c.is_alphanumeric() {
            found.push(String::new());
        }
        if c.is_alphanumeric() {
            found.last_mut().expect("it is not empty").push(c);
        }
        if ideograph {
            found.push(String::new());
        }
    }
    found.retain(|word| !word.is_empty());
    found
}

fn likeness(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let length = (dot(a, a) * dot(b, b)).sqrt();
    if length == 0.0 {
        0.0
    } else {
        dot(a, b) / length
    }
}

fn numbers(vector: Borrowed) -> Vec<f64> {
    vector.items().filter_map(|number| number.number()).collect()
}

/* ---- Records ---- */

#[derive(Clone)]
struct Record {
    version: i64,
    value: Value,
    others: BTreeMap<&'static str, Value>, // text, vector, expires_at
}

const OTHERS: [&str; 3] = ["text", "vector", "expires_at"];

impl Record {
    fn from(saved: Borrowed) -> Option<Record> {
        let others = OTHERS.iter().filter_map(|&name| Some((name, saved.member(name)?.owned()))).collect();
        Some(Record { version: saved.member("version")?.int()?, value: saved.member("value")?.owned(), others })
    }

    fn to_value(&self) -> Result<Value> {
        let mut saved = Value::object([("version", Value::int(self.version)?), ("value", self.value.clone())])?;
        for (name, value) in &self.others {
            saved.set(name, value)?;
        }
        Ok(saved)
    }

    fn exists(&self, now: i64) -> bool {
        self.others.get("expires_at").and_then(|at| at.borrow().int()).map_or(true, |at| at > now)
    }
}

type Collections = BTreeMap<String, BTreeMap<String, Record>>;

/// (collection, key, the record or `None` if it was removed).
type Change = (String, String, Option<Record>);

fn change_to_value((collection, key, record): &Change) -> Result<Value> {
    let record = record.as_ref().map_or_else(|| Ok(Value::json("null")?), Record::to_value)?;
    Ok(Value::array([Value::text(collection)?, Value::text(key)?, record])?)
}

fn apply(collections: &mut Collections, (collection, key, record): Change) {
    let records = collections.entry(collection).or_default();
    match record {
        Some(record) => records.insert(key, record),
        None => records.remove(&key),
    };
}

/// A member that must be a text.
fn required<'a>(object: Borrowed<'a>, name: &str) -> Result<&'a str> {
    object.member_text(name).ok_or_else(|| Failure::new("INVALID", format!("`{name}` must be a text")))
}

/* ---- The store ---- */

pub struct Store {
    path: String,
    lock: File,
    file: File,
    inode: u64,
    offset: u64,
    now: i64,
    collections: Collections,
}

fn open_file(path: &str) -> std::io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)
}

impl Store {
    pub fn open(options: Borrowed) -> Result<Store> {
        if let Some((name, _)) = options.members().find(|(name, _)| !["path", "use", "indexes"].contains(name)) {
            let message = format!("unknown option `{name}`; this store has `path` only");
            return Err(Failure::new("INVALID", message));
        }
        let path = required(options, "path")?.to_owned();
        let lock_path = format!("{path}.lock");
        let lock = open_file(&lock_path).map_err(|error| Failure::File(error).of_file(&lock_path))?;
        let file = open_file(&path).map_err(|error| Failure::File(error).of_file(&path))?;
        let mut store = Store { path, lock, file, inode: 0, offset: 0, now: 0, collections: Collections::new() };
        store.locked(|_| Ok(()))?;
        Ok(store)
    }

    /// Excludes other processes, and reads what they have added.
    fn locked<T>(&mut self, body: impl FnOnce(&mut Store) -> Result<T>) -> Result<T> {
        let descriptor = self.lock.as_raw_fd();
        if unsafe { flock(descriptor, LOCK_EXCLUSIVE) } != 0 {
            return Err(std::io::Error::last_os_error().into());
        }
        self.now = tenon::wall_ms();
        let result = self.read().and_then(|()| body(self));
        unsafe { flock(descriptor, LOCK_NONE) };
        result.map_err(|failure| failure.of_file(&self.path))
    }

    fn read(&mut self) -> Result<()> {
        if fs::metadata(&self.path).map_or(true, |status| status.ino() != self.inode) {
            self.file = open_file(&self.path)?; // new, or written again
            self.inode = self.file.metadata()?.ino();
            self.offset = 0;
            self.collections.clear();
        }
        self.file.seek(SeekFrom::Start(self.offset))?;
        let mut lines = BufReader::new(self.file.try_clone()?);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line)? > 0 {
            if self.offset == 0 && !BEGIN.starts_with(&line[..line.len().min(BEGIN.len())]) {
                let message = format!("{} does not begin as a file of this store; set another `path`", self.path);
                return Err(Failure::new("STORE_CORRUPT", message));
            }
            if line.last() != Some(&b'\n') {
                self.file.set_len(self.offset)?; // the process that wrote it was killed: it was not committed
                break;
            }
            let text = std::str::from_utf8(&line).ok();
            let changes = text.and_then(|text| Value::json(text).ok()).ok_or_else(|| {
                Failure::new("STORE_CORRUPT", format!("{}: the line at byte {} is not JSON", self.path, self.offset))
            })?;
            for change in changes.borrow().items() {
                let text = |index| change.at(index).and_then(|item| item.text()).unwrap_or("").to_owned();
                apply(&mut self.collections, (text(0), text(1), change.at(2).and_then(Record::from)));
            }
            self.offset += line.len() as u64;
            line.clear();
        }
        Ok(())
    }

    fn get(&self, collection: &str, key: &str) -> Option<&Record> {
        self.collections.get(collection)?.get(key).filter(|record| record.exists(self.now))
    }

    /// The places of the records that match, in order.
    fn select(&self, selection: Borrowed) -> Result<Vec<Place>> {
        let (from, to) = (selection.member_text("from"), selection.member_text("to"));
        let mut places = Vec::new();
        for (key, record) in self.collections.get(required(selection, "collection")?).into_iter().flatten() {
            let inside = from.map_or(true, |from| key.as_str() >= from) && to.map_or(true, |to| key.as_str() < to);
            let exists = inside && record.exists(self.now);
            if exists && matches(record.value.borrow(), selection.member("where"))? {
                places.push(self.place(selection, key, record)?);
            }
        }
        places.sort_by(compare_places);
        Ok(places)
    }

    fn place(&self, selection: Borrowed, key: &str, record: &Record) -> Result<Place> {
        let mut ranks = Vec::new();
        for path in selection.member("order").into_iter().flat_map(|order| order.items()) {
            ranks.push(Rank::of(member(record.value.borrow(), path.text().unwrap_or("")))?);
        }
        Ok((ranks, key.to_owned()))
    }

    /* ---- Batches ---- */

    pub fn commit(&mut self, batch: Borrowed) -> Result<Value> {
        request::check_batch(batch)?;
        self.locked(|store| {
            let before: Collections = batch
                .items()
                .filter_map(|operation| operation.member_text("collection"))
                .map(|name| (name.to_owned(), store.collections.get(name).cloned().unwrap_or_default()))
                .collect();
            let result = store.operate_all(batch);
            if result.is_err() {
                store.collections.extend(before);
            }
            result
        })
    }

    fn operate_all(&mut self, batch: Borrowed) -> Result<Value> {
        let (mut changes, mut results) = (Vec::new(), Vec::new());
        for (index, operation) in batch.items().enumerate() {
            results.push(self.operate(index as i64, operation, &mut changes)?);
        }
        if !changes.is_empty() {
            self.append(&changes)?;
        }
        Ok(Value::array(results)?)
    }

    fn append(&mut self, changes: &[Change]) -> Result<()> {
        let values = changes.iter().map(change_to_value).collect::<Result<Vec<_>>>()?;
        let line = Value::array(values)?.borrow().json()? + "\n";
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            self.file.set_len(self.offset)?;
            return Err(error.into());
        }
        self.offset += line.len() as u64;
        Ok(())
    }

    fn change(&mut self, changes: &mut Vec<Change>, collection: &str, key: &str, record: Option<Record>) {
        changes.push((collection.to_owned(), key.to_owned(), record.clone()));
        apply(&mut self.collections, (collection.to_owned(), key.to_owned(), record));
    }

    fn operate(&mut self, index: i64, operation: Borrowed, changes: &mut Vec<Change>) -> Result<Value> {
        let (op, collection) = (required(operation, "op")?, required(operation, "collection")?);
        if op == "delete_range" {
            let places = self.select(operation)?;
            for (_, key) in &places {
                self.change(changes, collection, key, None);
            }
            return Ok(Value::object([("count", Value::int(places.len() as i64)?)])?);
        }
        let patch = || operation.member("patch").ok_or_else(|| Failure::new("INVALID", "`patch` is missing"));
        if op == "take" {
            let Some((_, key)) = self.select(operation)?.into_iter().next() else {
                return Ok(Value::json("{\"key\": null}")?);
            };
            let value = merge(self.get(collection, &key).map(|record| record.value.borrow()), patch()?)?;
            let version = self.write(changes, collection, &key, value.clone(), operation, true)?;
            return Ok(Value::object([("key", Value::text(&key)?), ("version", version), ("value", value)])?);
        }
        let key = required(operation, "key")?;
        let next = operation.member("version").and_then(|version| version.int());
        let found = self.check(index, collection, key, operation.member("if"), next)?;
        match op {
            "put" => {
                let value = operation.member("value").expect("the request has been checked").owned();
                let version = self.write(changes, collection, key, value, operation, false)?;
                Ok(Value::object([("version", version)])?)
            }
            "merge" => {
                let value = merge(found.as_ref().map(|record| record.value.borrow()), patch()?)?;
                let version = self.write(changes, collection, key, value.clone(), operation, true)?;
                Ok(Value::object([("version", version), ("value", value)])?)
            }
            "delete" => {
                if found.is_some() {
                    self.change(changes, collection, key, None);
                }
                Ok(Value::json("{}")?)
            }
            _ => {
                // expect
                let version = found.map_or(0, |record| record.version);
                Ok(Value::object([("version", Value::int(version)?)])?)
            }
        }
    }

    /// Stores a value and what the operation has beside it, and returns the new version. `keeps`: what the operation
    /// does not have stays as it was.
    fn write(
        &mut self,
        changes: &mut Vec<Change>,
        collection: &str,
        key: &str,
        value: Value,
        operation: Borrowed,
        keeps: bool,
    ) -> Result<Value> {
        let found = self.get(collection, key);
        let next = operation.member("version").and_then(|version| version.int());
        let version = next.unwrap_or(found.map_or(0, |record| record.version) + 1);
        let mut others = found.filter(|_| keeps).map(|record| record.others.clone()).unwrap_or_default();
        for name in OTHERS {
            match operation.member(name) {
                Some(value) if value.kind() == tenon::NULL => drop(others.remove(name)),
                Some(value) => drop(others.insert(name, value.owned())),
                None => {}
            }
        }
        self.change(changes, collection, key, Some(Record { version, value, others }));
        Ok(Value::int(version)?)
    }

    /// The record, if the condition of the operation holds, and if `next` (of a put with a version) is greater than its
    /// version.
    fn check(
        &self,
        index: i64,
        collection: &str,
        key: &str,
        condition: Option<Borrowed>,
        next: Option<i64>,
    ) -> Result<Option<Record>> {
        let found = self.get(collection, key);
        let version = found.map_or(0, |record| record.version);
        let mut expected = None;
        if let Some(filter) = condition.and_then(|condition| condition.member("where")) {
            if !matches!(found, Some(record) if matches(record.value.borrow(), Some(filter))?) {
                expected = Some("one that matches `if`".to_owned());
            }
        }
        if let Some(wanted) = condition.and_then(|condition| condition.member("version")?.int()) {
            if wanted != version {
                expected = Some(if wanted == 0 { "no record".to_owned() } else { format!("version {wanted}") });
            }
        }
        if let Some(next) = next.filter(|next| *next <= version) {
            expected = Some(format!("one before version {next}"));
        }
        let Some(expected) = expected else {
            return Ok(found.cloned());
        };
        let state = found.map_or("no record".to_owned(), |record| format!("version {}", record.version));
        let detail = [("index", Value::int(index)?), ("key", Value::text(key)?), ("version", Value::int(version)?)];
        Err(Failure::Because {
            code: "CONFLICT",
            message: format!("`{key}` of `{collection}`: found {state}, expected {expected}"),
            detail: Some(Value::object(detail)?),
        })
    }

    /* ---- Queries ---- */

    pub fn query(&mut self, query: Borrowed) -> Result<Value> {
        let (kind, wanted) = request::check_query(query)?;
        self.locked(|store| match kind {
            "get" => match store.get(required(wanted, "collection")?, required(wanted, "key")?) {
                Some(record) => Ok(Value::object([
                    ("version", Value::int(record.version)?),
                    ("value", record.value.clone()),
                ])?),
                None => Ok(Value::json("null")?),
            },
            "count" => Ok(Value::int(store.select(wanted)?.len() as i64)?),
            "list" => store.list(wanted),
            "collections" => {
                let names = store.collections.iter().filter(|(_, records)| !records.is_empty());
                let names = names.map(|(name, _)| Ok(Value::text(name)?)).collect::<Result<Vec<_>>>()?;
                Ok(Value::object([("collections", Value::array(names)?)])?)
            }
            "format" => Ok(Value::object([("version", Value::int(1)?), ("before", Value::int(1)?)])?),
            _ => store.search(wanted),
        })
    }

    fn list(&self, wanted: Borrowed) -> Result<Value> {
        let collection = required(wanted, "collection")?;
        let is = |name| wanted.member(name).and_then(|value| value.bool()).unwrap_or(false);
        let (reverse, keys_only, attributes) = (is("reverse"), is("keys_only"), is("attributes"));
        let limit = wanted.member("limit").and_then(|value| value.int()).unwrap_or(LIST_LIMIT) as usize;
        let mut places = self.select(wanted)?;
        if reverse {
            places.reverse();
        }
        if let Some(after) = wanted.member_text("after") {
            let last = match (self.get(collection, after), wanted.member("order")) {
                (Some(record), _) => self.place(wanted, after, record)?,
                (None, Some(order)) if order.count() > 0 => {
                    let message = format!("the record `{after}`, which `after` names, no longer exists; restart the list");
                    return Err(Failure::new("NOT_FOUND", message));
                }
                _ => (Vec::new(), after.to_owned()),
            };
            let beyond = if reverse { Ordering::Less } else { Ordering::Greater };
            places.retain(|place| compare_places(place, &last) == beyond);
        }
        let (mut page, mut size) = (Vec::new(), 0);
        for (_, key) in places.iter().take(limit) {
            let record = self.get(collection, key).expect("it was selected");
            let mut row = Value::object([("key", Value::text(key)?), ("version", Value::int(record.version)?)])?;
            if !keys_only {
                size += record.value.borrow().json()?.len();
                row.set("value", &record.value)?;
            }
            if attributes {
                for (name, value) in OTHERS.iter().filter_map(|name| Some((name, record.others.get(name)?))) {
                    match value.borrow().text() {
                        Some(text) => {
                            let mut words = words(text);
                            words.sort();
                            row.set(name, &Value::text(&words.join(" "))?)?;
                        }
                        None => row.set(name, value)?,
                    }
                }
            }
            if !page.is_empty() && size > PAGE_BYTES {
                break;
            }
            page.push(row);
        }
        let more = if page.len() < places.len() { "true" } else { "false" };
        Ok(Value::object([("records", Value::array(page)?), ("more", Value::json(more)?)])?)
    }

    fn search(&self, wanted: Borrowed) -> Result<Value> {
        let collection = required(wanted, "collection")?;
        let limit = wanted.member("limit").and_then(|value| value.int()).unwrap_or(LIST_LIMIT) as usize;
        let text: BTreeSet<String> = words(wanted.member_text("text").unwrap_or("")).into_iter().collect();
        let vector = wanted.member("vector").map(numbers);
        let mut found = Vec::new();
        for (_, key) in self.select(wanted)? {
            let record = self.get(collection, &key).expect("it was selected");
            let other = |name| record.others.get(name).map(|value: &Value| value.borrow());
            if let Some(vector) = &vector {
                let own = other("vector").map(numbers).unwrap_or_default();
                if own.len() == vector.len() {
                    found.push((likeness(vector, &own), key.clone(), record));
                }
                continue;
            }
            let own = words(other("text").and_then(|text| text.text()).unwrap_or(""));
            if !text.is_empty() && text.iter().all(|word| own.contains(word)) {
                let hits = own.iter().filter(|word| text.contains(*word)).count();
                found.push((hits as f64 / own.len() as f64, key.clone(), record));
            }
        }
        found.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal));
        let mut rows = Vec::new();
        for (score, key, record) in found.into_iter().take(limit) {
            rows.push(Value::object([
                ("key", Value::text(&key)?),
                ("version", Value::int(record.version)?),
                ("value", record.value.clone()),
                ("score", Value::json(&format!("{score:?}"))?),
            ])?);
        }
        Ok(Value::object([("records", Value::array(rows)?)])?)
    }

    /* ---- Maintenance ---- */

    pub fn maintain(&mut self) -> Result<Value> {
        self.locked(|store| {
            let (mut count, mut kept) = (0, Vec::new());
            for (collection, records) in &store.collections {
                for (key, record) in records {
                    count += 1;
                    if record.exists(store.now) {
                        kept.push((collection.clone(), key.clone(), Some(record.clone())));
                    }
                }
            }
            let path = format!("{}.new", store.path);
            let mut new = File::create(&path)?;
            for change in &kept {
                let line = Value::array([change_to_value(change)?])?.borrow().json()? + "\n";
                new.write_all(line.as_bytes())?;
            }
            new.sync_all()?;
            fs::rename(&path, &store.path)?;
            store.read()?;
            let removed = Value::int(count - kept.len() as i64)?;
            Ok(Value::object([("removed", removed), ("bytes", Value::int(store.offset as i64)?)])?)
        })
    }
}
