//! Changes of one entry in the text of a configuration. Everything else stays as it is: other servers, unknown settings, comments, order.

use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use jsonc_parser::{ParseOptions, json};
use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::clients::{Format, Value};
use super::yaml;

/// The name of codeskim's entry.
pub const NAME: &str = "codeskim";

/// What the command of the hook ends with.
pub const HOOK: &str = "hook claude-code";

/// Properties of an entry, in order.
pub type Entry = [(&'static str, Value)];

/// The text with the entry in it. Properties that an earlier entry has beside these are kept.
///
/// # Errors
/// Text that is not in its format, or has something else where the servers should be, in words.
pub fn with(text: &str, format: Format, entry: &Entry) -> Result<String, String> {
    match format {
        Format::Json(key) => {
            let root = jsonc(text)?;
            let servers = root.object_value_or_create().ok_or("it is no object")?;
            let servers = servers.object_value_or_create(key).ok_or_else(|| format!("{key} is no object"))?;
            let own = servers.object_value_or_create(NAME).ok_or_else(|| format!("{key}.{NAME} is no object"))?;
            for (name, value) in entry {
                set(&own, name, value);
            }
            Ok(ended(root.to_string()))
        }
        Format::Toml(table) => with_line_ends_of(text, |text| {
            let mut document = toml(text)?;
            let servers = document.entry(table).or_insert_with(|| Item::Table(implicit()));
            let servers = servers.as_table_like_mut().ok_or_else(|| format!("{table} is no table"))?;
            let own = servers.entry(NAME).or_insert_with(|| Item::Table(Table::new()));
            let own = own.as_table_like_mut().ok_or_else(|| format!("{table}.{NAME} is no table"))?;
            for (name, new) in entry {
                let new = match new {
                    Value::Text(text) => value(text),
                    Value::List(texts) => value(texts.iter().collect::<Array>()),
                    Value::Flag(flag) => value(*flag),
                };
                own.insert(name, new);
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
        Format::Json(key) => {
            let root = jsonc(text)?;
            let own = root.object_value().and_then(|root| root.object_value(key)).and_then(|servers| servers.get(NAME));
            own.into_iter().for_each(|own| own.remove());
            Ok(root.to_string())
        }
        Format::Toml(table) => with_line_ends_of(text, |text| {
            let mut document = toml(text)?;
            if let Some(servers) = document.get_mut(table).and_then(Item::as_table_like_mut) {
                servers.remove(NAME);
            }
            Ok(document.to_string())
        }),
        Format::Yaml(key) => with_line_ends_of(text, |text| yaml::without(text, key)),
    }
}

/// The program and the arguments of the entry, if there is one.
///
/// # Errors
/// As [`with`].
pub fn command(text: &str, format: Format) -> Result<Option<Vec<String>>, String> {
    let entry = match format {
        Format::Json(key) => jsonc(text)?.to_serde_value().and_then(|all| all.get(key)?.get(NAME).cloned()),
        Format::Toml(table) => {
            let document = toml(text)?;
            let own = document.get(table).and_then(|servers| servers.get(NAME));
            let texts = |item: &Item| {
                item.as_array().map(|texts| texts.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect::<Vec<_>>())
            };
            own.map(
                |own| serde_json::json!({ "command": own.get("command").and_then(Item::as_str), "args": own.get("args").and_then(texts) }),
            )
        }
        Format::Yaml(key) => yaml::entry(text, key)?,
    };
    let texts = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => vec![text.clone()],
        serde_json::Value::Array(texts) => texts.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    Ok(entry.map(|entry| ["command", "args"].iter().filter_map(|name| entry.get(name)).flat_map(texts).collect()))
}

/// The settings of Claude Code with `command` as a hook before its Read and Grep.
///
/// # Errors
/// As [`with`].
pub fn with_hook(text: &str, command: &str) -> Result<String, String> {
    let root = jsonc(text)?;
    let hooks = root.object_value_or_create().ok_or("it is no object")?;
    let hooks = hooks.object_value_or_create("hooks").ok_or("hooks is no object")?;
    let before = hooks.array_value_or_create("PreToolUse").ok_or("hooks.PreToolUse is no list")?;
    if own_hooks(&before).any(|(_, hook)| hook.to_serde_value().is_some_and(|hook| hook["command"] == command)) {
        return Ok(text.to_owned());
    }
    remove_own(&before);
    before.append(json!({ "matcher": "Read|Grep", "hooks": [{ "type": "command", "command": command }] }));
    Ok(ended(root.to_string()))
}

/// The settings without that hook.
///
/// # Errors
/// As [`with`].
pub fn without_hook(text: &str) -> Result<String, String> {
    let root = jsonc(text)?;
    let before = root.object_value().and_then(|root| root.object_value("hooks")).and_then(|hooks| hooks.array_value("PreToolUse"));
    before.iter().for_each(remove_own);
    Ok(root.to_string())
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
fn starts_codeskim(command: &str) -> bool {
    let Some(program) = command.strip_suffix(HOOK) else { return false };
    program.trim_end().trim_matches(['\'', '"']).rsplit(['/', '\\', ' ']).next().is_some_and(|name| name.starts_with(NAME))
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
    if text.contains("\r\n") { Ok(edit(&text.replace("\r\n", "\n"))?.replace('\n', "\r\n")) } else { edit(text) }
}

fn ended(text: String) -> String {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    if text.is_empty() || text.ends_with('\n') { text } else { text + end }
}
