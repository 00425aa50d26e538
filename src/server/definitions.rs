//! What clients are told about each tool, and how their arguments reach it.
//!
//! An agent pays for these words on every turn, so each one has to earn its place; a test holds the whole list to its budget.

use std::sync::Arc;

use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Error, Result, shorten};
use crate::tools::{Call, Output, Session, grep, head, read_file, repo_map, search};

/// One tool.
pub struct Definition {
    /// The name that agents call.
    pub name: &'static str,
    title: &'static str,
    description: &'static str,
    schema: fn() -> Value,
    /// Runs it on arguments as they came.
    pub run: fn(&Session, JsonObject, &Call<'_>) -> Result<Output>,
}

/// The tools, in the order in which they are listed.
pub const ALL: &[Definition] = &[
    Definition {
        name: "read_file",
        title: "Read file",
        description: "Read definitions by name from wherever they are, lines, or a whole file, verbatim. With context_focus_question only the lines \
            that answer it, gaps marked as ⋮ FIRST-LAST. Without it the exact text.",
        schema: schema_of::<read_file::Request>,
        run: |session, arguments, call| read_file::run(session, &parse("read_file", arguments)?, call),
    },
    Definition {
        name: "grep",
        title: "Search files",
        description: "Search files as ripgrep does: each match with its line number and the definition it is in. With context_focus_question of many \
            matches those that answer it.",
        schema: schema_of::<grep::Request>,
        run: |session, arguments, call| grep::run(session, &parse("grep", arguments)?, call),
    },
    Definition {
        name: "search",
        title: "Ask all files",
        description: "Ask all files a question: the definitions that answer it, best first, verbatim, with what uses them and what they call.",
        schema: schema_of::<search::Request>,
        run: |session, arguments, call| search::run(session, &parse("search", arguments)?, call),
    },
    Definition {
        name: "head",
        title: "First lines",
        description: "As head does.",
        schema: schema_of::<head::Request>,
        run: |session, arguments, call| head::run(session, &parse("head", arguments)?, call),
    },
    Definition {
        name: "repo_map",
        title: "Map of imports",
        description: "Signatures in the files that some files import, three steps far. Rarely needed.",
        schema: schema_of::<repo_map::Request>,
        run: |session, arguments, call| repo_map::run(session, &parse("repo_map", arguments)?, call),
    },
];

impl Definition {
    /// The tool as clients see it.
    pub fn tool(&self) -> Tool {
        let Value::Object(schema) = (self.schema)() else { unreachable!("a struct has an object schema") };
        let annotations = ToolAnnotations::new().read_only(true).destructive(false).open_world(false);
        // Claude Code shows tools by name only until they are searched for, unless they ask not to be.
        let Value::Object(meta) = serde_json::json!({ "anthropic/alwaysLoad": true }) else { unreachable!("an object") };
        Tool::new(self.name, self.description, Arc::new(schema)).with_title(self.title).annotate(annotations).with_meta(MetaObject(meta))
    }
}

/// Arguments as the tool wants them, or one sentence on what is wrong with them.
fn parse<T: DeserializeOwned>(tool: &str, arguments: JsonObject) -> Result<T> {
    serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
        let field = error.path().to_string();
        let message = error.into_inner().to_string();
        let named = field == "." || message.starts_with("unknown field");
        let what = if named { message } else { format!("{field}: {message}") };
        Error::bad_argument(format!("The arguments of {tool} are not right: {}.", shorten(&what)))
    })
}

/// The schema of a request in the words that every client understands: single types, no null, no formats, no defaults.
fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Value::Object(schema) = &mut schema {
        schema.remove("title");
        schema.remove("description");
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().filter_map(Value::as_object_mut).for_each(simplify);
    }
    schema
}

fn simplify(property: &mut JsonObject) {
    if let Some(Value::Array(types)) = property.get("type")
        && let Some(single) = types.iter().find(|kind| *kind != "null")
    {
        let single = single.clone();
        property.insert("type".to_owned(), single);
    }
    for key in ["format", "default", "minimum"] {
        property.remove(key);
    }
}
