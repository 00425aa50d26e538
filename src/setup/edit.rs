//! Changes of one entry in the text of a configuration. Everything else stays as it is: other servers, unknown settings, comments, order.

use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use jsonc_parser::{ParseOptions, json};
use toml_edit::{Array, DocumentMut, Item, Table};

use super::clients::{Entry, Format, NAME, Value};
use super::yaml;
use crate::mend::{REPLACEMENT, with_halves};

/// What the command of a hook has after the program, before the client.
pub const HOOK: &str = "hook ";

/// The text with the entry in it. Properties that an earlier entry has beside these are kept.
///
/// # Errors
/// Text that is not in its format, or has something else where the servers should be, in words.
pub fn with(text: &str, format: Format, entry: &Entry) -> Result<String, String> {
    if own_entry(text, format)?.is_some_and(|own| is_elsewhere(&own)) {
        return Err(format!("its {NAME} is a server at an address, which stays"));
    }
    match format {
        Format::Json(key) => json_edit(text, |root| {
            let servers = root.object_value_or_create().ok_or("it is no object")?;
            let servers = servers.object_value_or_create(key).ok_or_else(|| format!("{key} is no object"))?;
            let own = servers.object_value_or_create(NAME).ok_or_else(|| format!("{key}.{NAME} is no object"))?;
            for (name, value) in entry {
                set(&own, name, value);
            }
            Ok(())
        })
        .map(ended),
        Format::Toml(table) => with_line_ends_of(text, |text| {
            let mut document = toml(text)?;
            let servers = document.entry(table).or_insert_with(|| Item::Table(implicit()));
            let servers = servers.as_table_like_mut().ok_or_else(|| format!("{table} is no table"))?;
            let own = servers.entry(NAME).or_insert_with(|| Item::Table(Table::new()));
            let own = own.as_table_like_mut().ok_or_else(|| format!("{table}.{NAME} is no table"))?;
            for (name, new) in entry {
                let new: toml_edit::Value = match new {
                    Value::Text(text) => text.into(),
                    Value::List(texts) => texts.iter().collect::<Array>().into(),
                    Value::Flag(flag) => (*flag).into(),
                };
                match own.get_mut(name) {
                    Some(Item::Value(old)) => {
                        let decor = old.decor().clone(); // with the comment behind it
                        *old = new;
                        *old.decor_mut() = decor;
                    }
                    _ => drop(own.insert(name, Item::Value(new))),
                }
            }
            Ok(ended(document.to_string()))
        }),
        Format::Yaml(key) => with_line_ends_of(text, |text| yaml::with(text, key, entry)),
    }
}

/// The text without the entry; as it is if there is none.
///
/// # Errors
/// As [`with`].
pub fn without(text: &str, format: Format) -> Result<String, String> {
    match format {
        Format::Json(key) => json_edit(text, |root| {
            let own = root.object_value().and_then(|root| root.object_value(key)).and_then(|servers| servers.get(NAME));
            own.into_iter().for_each(|own| own.remove());
            Ok(())
        }),
        Format::Toml(table) => with_line_ends_of(text, |text| {
            let mut document = toml(text)?;
            if let Some(servers) = document.get_mut(table).and_then(Item::as_table_like_mut) {
                servers.remove(NAME);
            }
            let without = document.to_string();
            let cut = without_table(text, &format!("{table}.{NAME}"));
            Ok(if says_the_same(&cut, &without) { cut } else { without })
        }),
        Format::Yaml(key) => with_line_ends_of(text, |text| yaml::without(text, key)),
    }
}

/// The TOML text without the lines of a table and of those below it. What is said before the next table stays, and what is said before this one.
fn without_table(text: &str, name: &str) -> String {
    let is_own = |header: &str| header.strip_prefix(name).is_some_and(|rest| rest.starts_with([']', '.']));
    let (mut out, mut own, mut said) = (String::new(), false, String::new());
    for line in text.split_inclusive('\n') {
        let content = line.trim_start();
        if let Some(header) = content.strip_prefix('[') {
            own = is_own(header);
        }
        match own {
            true if content.is_empty() || content.starts_with('#') => said.push_str(line),
            true => said.clear(),
            false => {
                out.push_str(if out.is_empty() || out.ends_with("\n\n") { said.trim_start() } else { &said });
                said.clear();
                out.push_str(line);
            }
        }
    }
    out + &said
}

/// Whether two TOML texts differ in comments and blank lines at most, and in tables without anything in them.
fn says_the_same(one: &str, other: &str) -> bool {
    let values = |text: &str| {
        let mut all: serde_json::Map<String, serde_json::Value> = toml_edit::de::from_str(text).ok()?;
        all.retain(|_, value| value.as_object().is_none_or(|table| !table.is_empty()));
        Some(all)
    };
    values(one).is_some_and(|one| values(other) == Some(one))
}

/// The entry as it is, if there is one.
fn own_entry(text: &str, format: Format) -> Result<Option<serde_json::Value>, String> {
    let of = |all: serde_json::Value, key: &str| all.get(key)?.get(NAME).cloned();
    match format {
        Format::Json(key) => Ok(jsonc(&with_halves(text, |_| REPLACEMENT.to_owned()))?.to_serde_value().and_then(|all| of(all, key))),
        Format::Toml(table) => toml_edit::de::from_document(toml(text)?).map(|all| of(all, table)).map_err(|error| error.to_string()),
        Format::Yaml(key) => yaml::entry(text, key),
    }
}

/// Whether an entry is of a server that is reached at an address, and not started.
fn is_elsewhere(entry: &serde_json::Value) -> bool {
    entry.get("command").is_none() && entry.as_object().is_some_and(|entry| entry.keys().any(|key| key.to_lowercase().ends_with("url")))
}

/// The program and the arguments of the entry, if there is one; neither if it is of a server that is reached at an address.
///
/// # Errors
/// As [`with`].
pub fn command(text: &str, format: Format) -> Result<Option<Vec<String>>, String> {
    let texts = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => vec![text.clone()],
        serde_json::Value::Array(texts) => texts.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    Ok(own_entry(text, format)?.map(|entry| ["command", "args"].iter().filter_map(|name| entry.get(name)).flat_map(texts).collect()))
}

/// The settings of a client with `command` as a hook at some events, each for the tools that a pattern matches, and at no others.
///
/// # Errors
/// As [`with`].
pub fn with_hooks(text: &str, hooks_at: &[(&str, &str)], command: &str) -> Result<String, String> {
    json_edit(text, |root| put_hooks(root, hooks_at, command)).map(|new| if new == text { new } else { ended(new) })
}

fn put_hooks(root: &CstRootNode, hooks_at: &[(&str, &str)], command: &str) -> Result<(), String> {
    let hooks = root.object_value_or_create().ok_or("it is no object")?;
    let hooks = hooks.object_value_or_create("hooks").ok_or("hooks is no object")?;
    let has = |event: &str, matcher: &str| {
        let entries = hooks.array_value(event).map(|entries| entries.elements()).unwrap_or_default();
        let is_it = |entry: CstNode| {
            let entry = entry.to_serde_value()?;
            let own = entry["hooks"].as_array()?.iter().any(|hook| hook["command"] == command);
            Some(own && entry["matcher"] == matcher)
        };
        entries.into_iter().filter_map(is_it).any(|is| is)
    };
    let own = lists(&hooks).iter().map(|entries| own_hooks(entries).count()).sum::<usize>();
    if own == hooks_at.len() && hooks_at.iter().all(|(event, matcher)| has(event, matcher)) {
        return Ok(());
    }
    lists(&hooks).iter().for_each(remove_own);
    for (event, matcher) in hooks_at {
        let entries = hooks.array_value_or_create(event).ok_or_else(|| format!("hooks.{event} is no list"))?;
        entries.append(json!({ "matcher": (*matcher), "hooks": [{ "type": "command", "command": command }] }));
    }
    Ok(())
}

/// The settings without codeskim's hooks.
///
/// # Errors
/// As [`with`].
pub fn without_hooks(text: &str) -> Result<String, String> {
    json_edit(text, |root| {
        let hooks = root.object_value().and_then(|root| root.object_value("hooks"));
        hooks.iter().flat_map(lists).for_each(|entries| remove_own(&entries));
        Ok(())
    })
}

/// The lists of hooks, one for each event.
fn lists(hooks: &CstObject) -> Vec<CstArray> {
    hooks.properties().into_iter().filter_map(|property| property.value()?.as_array()).collect()
}

/// Codeskim's hooks, each after the list that it is in: an entry may have others beside.
fn own_hooks(entries: &CstArray) -> impl Iterator<Item = (CstArray, CstNode)> {
    let lists = entries.elements().into_iter().filter_map(|entry| entry.as_object()?.array_value("hooks"));
    lists.flat_map(|hooks| hooks.elements().into_iter().map(move |hook| (hooks.clone(), hook))).filter(|(_, hook)| {
        let command = hook.to_serde_value().and_then(|hook| hook["command"].as_str().map(str::to_owned));
        command.is_some_and(|command| starts_codeskim(&command))
    })
}

/// Whether the command of a hook is codeskim's, wherever the program is.
pub fn starts_codeskim(command: &str) -> bool {
    let is_codeskim = |program: &str| {
        program.trim_end().trim_matches(['\'', '"']).rsplit(['/', '\\', ' ']).next().is_some_and(|name| name.starts_with(NAME))
    };
    command.match_indices(HOOK).any(|(at, _)| is_codeskim(&command[..at]))
}

/// Takes them out, and the entries that are empty then.
fn remove_own(entries: &CstArray) {
    for (hooks, hook) in own_hooks(entries) {
        hook.remove();
        if hooks.elements().is_empty() {
            let is_its = |entry: &CstNode| {
                entry.as_object().and_then(|entry| entry.array_value("hooks")).is_some_and(|hooks| hooks.elements().is_empty())
            };
            entries.elements().into_iter().filter(is_its).for_each(CstNode::remove);
        }
    }
}

/// An edit of JSON. Halves of characters in it, which the parser does not take, stay as they are: other characters stand for them meanwhile.
fn json_edit(text: &str, edit: impl Fn(&CstRootNode) -> Result<(), String>) -> Result<String, String> {
    let mut free = (0xe000..0xf900).map(|unit| format!("\\u{unit:04x}")).filter(|other| !text.contains(other.as_str()));
    let mut standing: Vec<(String, String)> = Vec::new();
    let whole = with_halves(text, |half| match standing.iter().find(|(known, _)| known == half) {
        Some((_, other)) => other.clone(),
        None => {
            let other = free.next().unwrap_or_else(|| half.to_owned());
            standing.push((half.to_owned(), other.clone()));
            other
        }
    });
    let root = jsonc(&whole)?;
    edit(&root)?;
    Ok(standing.iter().fold(root.to_string(), |text, (half, other)| text.replace(other, half)))
}

fn jsonc(text: &str) -> Result<CstRootNode, String> {
    // What clients take beyond JSON; the rest would be guessing.
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(text, &options).map_err(|error| format!("it is not valid JSON ({error})"))
}

fn set(object: &CstObject, name: &str, value: &Value) {
    let value = match value {
        Value::Text(text) => CstInputValue::from(text.as_str()),
        Value::List(texts) => CstInputValue::from(texts.clone()),
        Value::Flag(flag) => CstInputValue::from(*flag),
    };
    match object.get(name) {
        Some(property) => property.set_value(value),
        None => drop(object.append(name, value)),
    }
}

fn toml(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error: toml_edit::TomlError| format!("it is not valid TOML ({})", error.message()))
}

/// A table that is written only as the beginning of others' names.
fn implicit() -> Table {
    let mut table = Table::new();
    table.set_implicit(true);
    table
}

/// An edit of a text whose lines may end in `\r\n`, by an editor that writes `\n`.
fn with_line_ends_of(text: &str, edit: impl Fn(&str) -> Result<String, String>) -> Result<String, String> {
    if !text.contains("\r\n") {
        return edit(text);
    }
    let plain = text.replace("\r\n", "\n");
    let edited = edit(&plain)?;
    if edited == plain {
        return Ok(text.to_owned());
    }
    if text.matches('\n').count() > text.matches("\r\n").count() {
        return Err("some of its lines end in CRLF and others in LF".to_owned());
    }
    Ok(edited.replace('\n', "\r\n"))
}

fn ended(text: String) -> String {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    if text.is_empty() || text.ends_with('\n') { text } else { text + end }
}

#[cfg(test)]
mod tests {
    use super::starts_codeskim;

    #[test]
    fn a_hook_is_known_wherever_the_program_is() {
        for own in ["'/usr/bin/codeskim' hook codex", "'/me/webhook service/codeskim.exe' hook codex --root '/a'", "codeskim hook gemini"] {
            assert!(starts_codeskim(own), "{own}");
        }
        for other in ["'/usr/bin/other' hook codex", "webhook codeskim", "codeskim"] {
            assert!(!starts_codeskim(other), "{other}");
        }
    }
}
