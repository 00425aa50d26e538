//! Changes of one item in a list of a YAML text. There is no writer of YAML that leaves the rest alone, so lines are put in and taken out, and
//! the text is parsed before and after: only if it says exactly what it should is it used.

use serde_json::{Map, Value as Json, json};

use super::clients::{Entry, NAME, Value};

/// The text with the entry as an item of the list `key`, named codeskim. Properties that an earlier entry has beside these are kept.
///
/// # Errors
/// Text that is no YAML, or whose list is written in a way that is not understood.
pub fn with(text: &str, key: &str, entry: &Entry) -> Result<String, String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let item: Vec<String> =
        std::iter::once(format!("- name: {NAME}")).chain(entry.iter().flat_map(|(name, value)| property(name, value))).collect();
    let indented = |by: usize| item.iter().map(move |line| format!("{}{line}", " ".repeat(by))).collect::<Vec<_>>();
    match find(&lines, key) {
        None => {
            lines.push(format!("{key}:"));
            lines.extend(indented(2));
        }
        Some(List { head, items }) => match (items.iter().find(|item| item.name.as_deref() == Some(NAME)), items.last()) {
            (Some(own), _) => {
                let updated = updated(&lines[own.from..own.to], entry);
                lines.splice(own.from..own.to, updated);
            }
            (None, Some(last)) => drop(lines.splice(last.to..last.to, indented(last.indent))),
            (None, None) => {
                lines[head] = format!("{key}:{}", comment(&lines[head]));
                lines.splice(head + 1..head + 1, indented(2));
            }
        },
    }
    checked(text, lines, key, Some(entry))
}

/// The text without that item.
///
/// # Errors
/// As [`with`].
pub fn without(text: &str, key: &str) -> Result<String, String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if entry(text, key)?.is_none() {
        return Ok(text.to_owned());
    }
    let not_understood = || not_understood(key);
    let List { head, items } = find(&lines, key).ok_or_else(not_understood)?;
    let own = items.iter().find(|item| item.name.as_deref() == Some(NAME)).ok_or_else(not_understood)?;
    lines.drain(own.from..own.to);
    if items.len() == 1 {
        lines[head] = format!("{key}: []{}", comment(&lines[head]));
    }
    checked(text, lines, key, None)
}

/// The item, if there is one.
///
/// # Errors
/// Text that is no YAML.
pub fn entry(text: &str, key: &str) -> Result<Option<Json>, String> {
    let all = parse(text)?;
    let items = all.get(key).and_then(Json::as_array);
    Ok(items.and_then(|items| items.iter().find(|item| item["name"] == NAME)).cloned())
}

/// A block list in the text.
struct List {
    /// The line of its key.
    head: usize,
    items: Vec<Item>,
}

struct Item {
    from: usize,
    to: usize,
    indent: usize,
    name: Option<String>,
}

/// The list of a top-level key, as far as it is written as one item a block of lines.
fn find(lines: &[String], key: &str) -> Option<List> {
    let head = lines.iter().position(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))?;
    let indent = |line: &str| line.len() - line.trim_start().len();
    let says = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let mut items: Vec<Item> = Vec::new();
    for (at, line) in lines.iter().enumerate().skip(head + 1).filter(|(_, line)| says(line)) {
        let is_item = line.trim_start().starts_with("- ");
        match items.last_mut() {
            _ if indent(line) == 0 && !is_item => break,
            Some(last) if indent(line) > last.indent => last.to = at + 1,
            Some(last) if !is_item || indent(line) < last.indent => break,
            _ if !is_item => break,
            _ => items.push(Item { from: at, to: at + 1, indent: indent(line), name: None }),
        }
    }
    for item in &mut items {
        let own = parse(&lines[item.from..item.to].join("\n")).ok();
        item.name = own.and_then(|own| own[0]["name"].as_str().map(str::to_owned));
    }
    Some(List { head, items })
}

/// The lines of an item with these properties in place of those it has of the same names; what else it has stays.
fn updated(item: &[String], entry: &Entry) -> Vec<String> {
    let column = item[0].len() - item[0].trim_start().trim_start_matches('-').trim_start().len();
    // The item's own line like the others: its dash comes back at the end.
    let mut lines: Vec<String> = item.to_vec();
    lines[0].replace_range(..column, &" ".repeat(column));
    let belongs = |line: &String| {
        let indent = line.len() - line.trim_start().len();
        indent > column || indent == column && line[column..].starts_with("- ")
    };
    for (name, value) in entry {
        let is_it =
            |line: &String| line.get(column..).is_some_and(|rest| rest.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')));
        let from = lines.iter().position(is_it).unwrap_or(lines.len());
        let to = from + 1 + lines.iter().skip(from + 1).take_while(|line| belongs(line)).count();
        let new = property(name, value).into_iter().map(|line| format!("{}{}", " ".repeat(column), &line[2..]));
        lines.splice(from..to.min(lines.len()), new);
    }
    lines[0].replace_range(..column, &item[0][..column]);
    lines
}

/// A property of an item, on lines of its own.
fn property(name: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Text(text) => vec![format!("  {name}: {}", json!(text))],
        Value::Flag(flag) => vec![format!("  {name}: {flag}")],
        Value::List(texts) if texts.is_empty() => vec![format!("  {name}: []")],
        Value::List(texts) => {
            std::iter::once(format!("  {name}:")).chain(texts.iter().map(|text| format!("    - {}", json!(text)))).collect()
        }
    }
}

/// The new text, if all that it says beside the item is what the old one says.
fn checked(old: &str, lines: Vec<String>, key: &str, entry: Option<&Entry>) -> Result<String, String> {
    let new = lines.join("\n") + "\n";
    let others = |mut all: Json| {
        let items = all.get_mut(key).map(Json::take);
        let items = items
            .as_ref()
            .and_then(Json::as_array)
            .map(|items| items.iter().filter(|item| item["name"] != NAME).cloned().collect::<Vec<_>>());
        if let Some(all) = all.as_object_mut() {
            all.remove(key);
        }
        (all, items.unwrap_or_default())
    };
    let before = match parse(old)? {
        Json::Null => Json::Object(Map::new()),
        all => all,
    };
    let is_list = before.get(key).is_none_or(|items| items.is_array() || items.is_null());
    let after = parse(&new).unwrap_or_default();
    let own = |all: &Json| all.get(key).and_then(Json::as_array).and_then(|items| items.iter().find(|item| item["name"] == NAME)).cloned();
    let wanted = entry.map(|entry| {
        let mut wanted = own(&before).unwrap_or_else(|| json!({ "name": NAME }));
        for (name, value) in entry {
            wanted[*name] = match value {
                Value::Text(text) => json!(text),
                Value::List(texts) => json!(texts),
                Value::Flag(flag) => json!(flag),
            };
        }
        wanted
    });
    if is_list && own(&after) == wanted && others(before) == others(after) { Ok(new) } else { Err(not_understood(key)) }
}

fn not_understood(key: &str) -> String {
    format!("its {key} are written in a way that is not understood")
}

/// The comment at the end of the line of a key, which has nothing else behind it than an empty list; with the space before it.
fn comment(line: &str) -> &str {
    line.find(" #").map_or("", |at| &line[at..])
}

fn parse(text: &str) -> Result<Json, String> {
    if text.trim().is_empty() {
        return Ok(Json::Null);
    }
    serde_saphyr::from_str(text).map_err(|error| format!("it is not valid YAML ({})", error.to_string().lines().next().unwrap_or_default()))
}
