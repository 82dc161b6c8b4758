//! What is a batch and a query: everything that is wrong in a request itself is reported before anything is done.

use crate::store::Failure;
use crate::tenon::{self, Borrowed, Value};

type Result<T> = std::result::Result<T, Failure>;

/* The limits of tenon/store.h. */
const BATCH_MAX: u64 = 10_000;
const KEY_MAX: usize = 1_024; // bytes of a key, a collection's name, a member path
const TEXT_MAX: usize = 1_048_576;
const VALUE_MAX: usize = 16_777_216;
const VECTOR_MAX: u64 = 16_384;
const ORDER_MAX: u64 = 8;
const LIMIT_MAX: i64 = 10_000;
const FILTER_MAX: u64 = 256; // conditions
const ANY_MAX: u32 = 8; // `any` in `any`
const IN_MAX: u64 = 1_000;

/// The members of each operation and query. Those before `|` must be there.
const REQUESTS: [(&str, &str); 12] = [
    ("put", "collection key value | if text vector expires_at version"),
    ("merge", "collection key patch | if text vector expires_at"),
    ("delete", "collection key | if"),
    ("delete_range", "collection | from to"),
    ("expect", "collection key if |"),
    ("take", "collection patch | where order"),
    ("get", "collection key |"),
    ("list", "collection | from to where order reverse limit after keys_only attributes"),
    ("count", "collection | from to where"),
    ("search", "collection | text vector where from to limit"),
    ("collections", "|"),
    ("format", "|"),
];

fn invalid<T>(message: impl Into<String>) -> Result<T> {
    Err(Failure::new("INVALID", message))
}

fn limit<T>(what: &str, most: impl std::fmt::Display) -> Result<T> {
    Err(Failure::new("LIMIT", format!("{what}: at most {most}")))
}

pub fn check_batch(batch: Borrowed) -> Result<()> {
    if batch.kind() != tenon::ARRAY {
        return invalid("a batch must be an array of operations");
    }
    if batch.count() > BATCH_MAX {
        return limit("operations of a batch", BATCH_MAX);
    }
    for (index, operation) in batch.items().enumerate() {
        let names = &REQUESTS[..6];
        let checked = match operation.member_text("op") {
            Some(op) if names.iter().any(|(name, _)| *name == op) => check_members(op, operation),
            Some(op) => invalid(format!("unknown operation `{op}`")),
            None => invalid("an operation must be an object with the member `op`"),
        };
        checked.map_err(|failure| failure.at(index as i64))?;
    }
    Ok(())
}

/// Returns the query's name and its arguments.
pub fn check_query(query: Borrowed<'_>) -> Result<(&str, Borrowed<'_>)> {
    let mut members = query.members();
    let (Some((name, arguments)), None) = (members.next(), members.next()) else {
        return invalid("a query must be an object with one member");
    };
    if !REQUESTS[6..].iter().any(|(known, _)| *known == name) {
        return invalid(format!("unknown query `{name}`; expected get, list, count, search, collections or format"));
    }
    if arguments.kind() != tenon::OBJECT {
        return invalid(format!("`{name}` must be an object"));
    }
    check_members(name, arguments)?;
    let has = |name| arguments.member(name).map_or(false, |value| value.kind() != tenon::NULL);
    if name == "search" && has("text") == has("vector") {
        return invalid("`search` needs either a `text` or a `vector`");
    }
    Ok((name, arguments))
}

/// Other members that are null are absent.
fn may_be_null(name: &str) -> bool {
    matches!(name, "value" | "patch")
}

fn check_members(request: &str, object: Borrowed) -> Result<()> {
    let (_, members) = REQUESTS.iter().find(|(name, _)| *name == request).expect("it was looked up");
    let (required, optional) = members.split_once('|').expect("every row has one");
    for name in required.split_whitespace() {
        let found = object.member(name).filter(|value| may_be_null(name) || value.kind() != tenon::NULL);
        if found.is_none() {
            return invalid(format!("`{request}` needs the member `{name}`"));
        }
    }
    for (name, value) in object.members().filter(|(name, _)| *name != "op") {
        if !required.split_whitespace().chain(optional.split_whitespace()).any(|known| known == name) {
            return invalid(format!("`{request}` has no member `{name}`"));
        }
        if value.kind() != tenon::NULL || may_be_null(name) {
            check_member(name, value)?;
        }
    }
    Ok(())
}

fn check_member(name: &str, value: Borrowed) -> Result<()> {
    let expected = |what: &str| invalid(format!("`{name}` must be {what}"));
    match name {
        "collection" | "key" | "from" | "to" | "after" => match value.text() {
            None => expected("a string"),
            Some(text) if text.len() > KEY_MAX => limit(&format!("`{name}` has too many bytes"), KEY_MAX),
            Some(_) => Ok(()),
        },
        "value" | "patch" => match value.json()?.len() {
            length if length > VALUE_MAX => limit(&format!("`{name}` has {length} bytes"), VALUE_MAX),
            _ => Ok(()),
        },
        "text" => match value.text() {
            None => expected("a string"),
            Some(text) if text.len() > TEXT_MAX => limit("`text` has too many bytes", TEXT_MAX),
            Some(_) => Ok(()),
        },
        "vector" => {
            let fits = |number: Borrowed| number.number().map_or(false, |number| (number as f32).is_finite());
            if value.count() > VECTOR_MAX {
                return limit("numbers of a vector", VECTOR_MAX);
            }
            let numbers = value.kind() == tenon::ARRAY && value.count() > 0 && value.items().all(fits);
            numbers.then_some(()).map_or_else(|| expected("an array of numbers, not empty"), Ok)
        }
        "expires_at" => value.int().map_or_else(|| expected("an integer"), |_| Ok(())),
        "reverse" | "keys_only" | "attributes" => value.bool().map_or_else(|| expected("true or false"), |_| Ok(())),
        "version" => match value.int() {
            Some(number) if number >= 1 && number < i64::MAX => Ok(()),
            _ => expected("an integer from 1 on"),
        },
        "limit" => match value.int() {
            Some(number) if number > LIMIT_MAX => limit("`limit`", LIMIT_MAX),
            Some(1..) => Ok(()),
            _ => expected("an integer from 1 on"),
        },
        "order" => {
            if value.kind() != tenon::ARRAY {
                return expected("an array of member paths");
            }
            if value.count() > ORDER_MAX {
                return limit("members of an `order`", ORDER_MAX);
            }
            value.items().try_for_each(|path| check_path(path.text().unwrap_or("\0")))
        }
        "if" => check_condition(value),
        _ => check_filter(value, 0, &mut 0),
    }
}

fn check_condition(condition: Borrowed) -> Result<()> {
    let known = ["version", "where"];
    if condition.kind() != tenon::OBJECT || condition.count() == 0 {
        return invalid("`if` needs a `version`, a `where` or both");
    }
    for (name, value) in condition.members() {
        match name {
            "version" if value.int().map_or(true, |version| version < 0) => {
                return invalid("`version` must be an integer from 0 on");
            }
            "where" => check_filter(value, 0, &mut 0)?,
            _ if known.contains(&name) => {}
            _ => return invalid(format!("`if` has no member `{name}`")),
        }
    }
    Ok(())
}

fn check_path(path: &str) -> Result<()> {
    if path.contains('\0') {
        return invalid("a member path must be a string without NUL");
    }
    if path.len() > KEY_MAX {
        return limit("bytes of a member path", KEY_MAX);
    }
    Ok(())
}

fn check_filter(filter: Borrowed, depth: u32, count: &mut u64) -> Result<()> {
    if filter.kind() != tenon::OBJECT {
        return invalid("a filter must be an object of member paths");
    }
    if depth > ANY_MAX {
        return limit("`any` in `any`", ANY_MAX);
    }
    for (path, wanted) in filter.members() {
        check_path(path)?;
        *count += 1;
        if *count > FILTER_MAX {
            return limit("conditions of a filter", FILTER_MAX);
        }
        if path == "any" {
            if wanted.kind() != tenon::ARRAY {
                return invalid("`any` must be an array of filters");
            }
            wanted.items().try_for_each(|one| check_filter(one, depth + 1, count))?;
        } else if wanted.kind() == tenon::OBJECT {
            check_conditions(path, wanted)?;
        }
    }
    Ok(())
}

fn check_conditions(path: &str, conditions: Borrowed) -> Result<()> {
    if conditions.count() == 0 {
        return invalid(format!("`{path}`: the object has no condition"));
    }
    for (name, wanted) in conditions.members() {
        let good = match name {
            "eq" | "ne" | "contains" => true,
            "lt" | "le" | "gt" | "ge" => {
                wanted.kind() != tenon::BOOL && (wanted.number().is_some() || wanted.text().is_some())
            }
            "exists" => wanted.bool().is_some(),
            "in" if wanted.count() > IN_MAX => return limit("values of an `in`", IN_MAX),
            "in" => wanted.kind() == tenon::ARRAY,
            _ => return invalid(format!("`{path}`: unknown condition `{name}`")),
        };
        if !good {
            return invalid(format!("`{path}`: `{name}` has a value of the wrong kind"));
        }
    }
    Ok(())
}

/// The failure with its place in the batch.
impl Failure {
    fn at(self, index: i64) -> Failure {
        match self {
            Failure::Because { code, message, .. } => {
                let detail = Value::int(index).and_then(|index| Value::object([("index", index)])).ok();
                Failure::Because { code, message, detail }
            }
            host => host,
        }
    }
}
