//! Prompts: what a person may put before a conversation, of their own accord.

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};

use crate::error::{Error, quote};
use crate::tools::{Call, Output, Session, repo_map};

/// The study's form of a map: before the task.
const REPO_MAP: &str = "repo_map";
/// How to read, and what to ask.
const READING: &str = "reading";

/// What agents are told of reading, by agent; the files are for system prompts.
const AGENTS: [(&str, &str); 4] = [
    ("generic", include_str!("../../prompts/generic.md")),
    ("claude-code", include_str!("../../prompts/claude-code.md")),
    ("openhands", include_str!("../../prompts/openhands.md")),
    ("shell", include_str!("../../prompts/shell.md")),
];

/// The prompts, in the order in which they are listed.
pub fn all() -> Vec<Prompt> {
    let task = PromptArgument::new("task")
        .with_description("The task; files it names in lines such as Path: 'pkg/a.py' are the map's roots")
        .with_required(true);
    let description =
        "A task with a map of the files around those it names. Measured elsewhere, maps up front cost agents 21 % more tokens on average";
    let names = AGENTS.map(|(name, _)| name).join(", ");
    let agent = PromptArgument::new("agent").with_description(format!("One of {names}; generic if left out")).with_required(false);
    vec![
        Prompt::new(READING, Some("How to read code with codeskim, and what to ask"), Some(vec![agent]))
            .with_title("Reading with codeskim"),
        Prompt::new(REPO_MAP, Some(description), Some(vec![task])).with_title("Task with a repository map"),
    ]
}

/// One prompt with its arguments filled in, and the map in it if there is one.
///
/// # Errors
/// A prompt that is not there, arguments that are missing or wrong, or a task that cannot be mapped, in one sentence.
pub fn get(
    session: &Session,
    name: &str,
    arguments: Option<&JsonObject>,
    call: &Call<'_>,
) -> Result<(GetPromptResult, Option<Output>), ErrorData> {
    let argument = |name: &str| arguments?.get(name)?.as_str().filter(|text| !text.trim().is_empty());
    let found = match name {
        READING => reading(argument("agent").unwrap_or(AGENTS[0].0)).map(|text| (text, None)),
        REPO_MAP => task_with_map(session, argument("task"), call).map(|(text, map)| (text, Some(map))),
        _ => Err(format!("There is no prompt {}; call prompts/list for those there are.", quote(name))),
    };
    let (text, map) = found.map_err(|message| ErrorData::invalid_params(message, None))?;
    Ok((GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]), map))
}

fn reading(agent: &str) -> Result<String, String> {
    let found = AGENTS.iter().find(|(name, _)| *name == agent);
    found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| format!("There is nothing for the agent {}; leave it out.", quote(agent)))
}

fn task_with_map(session: &Session, task: Option<&str>, call: &Call<'_>) -> Result<(String, Output), String> {
    let task = task.ok_or("The prompt repo_map needs a task.")?;
    let request = repo_map::Request { task: Some(task.to_owned()), ..repo_map::Request::default() };
    let map = repo_map::run(session, &request, call).map_err(|error: Error| error.to_string())?;
    Ok((format!("{}\n{task}", map.text), map))
}
