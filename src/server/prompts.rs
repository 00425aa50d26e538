//! Prompts: what a person may put before a conversation, of their own accord.

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};

use crate::error::{Error, quote};
use crate::tools::{Call, Session, repo_map};

/// The study's form of a map: before the task.
const REPO_MAP: &str = "repo_map";

/// The prompts, in the order in which they are listed.
pub fn all() -> Vec<Prompt> {
    let task = PromptArgument::new("task")
        .with_description("The task; files it names in lines such as Path: 'pkg/a.py' are the map's roots")
        .with_required(true);
    let description =
        "A task with a map of the files around those it names. Measured elsewhere, maps up front cost agents 21 % more tokens on average";
    vec![Prompt::new(REPO_MAP, Some(description), Some(vec![task])).with_title("Task with a repository map")]
}

/// One prompt with its arguments filled in.
///
/// # Errors
/// A prompt that is not there, arguments that are missing, or a task that cannot be mapped, in one sentence.
pub fn get(session: &Session, name: &str, arguments: Option<&JsonObject>, call: &Call<'_>) -> Result<GetPromptResult, ErrorData> {
    let wrong = |message: String| ErrorData::invalid_params(message, None);
    if name != REPO_MAP {
        return Err(wrong(format!("There is no prompt {}; call prompts/list for those there are.", quote(name))));
    }
    let task = arguments.and_then(|arguments| arguments.get("task")).and_then(|task| task.as_str()).filter(|task| !task.trim().is_empty());
    let task = task.ok_or_else(|| wrong("The prompt repo_map needs a task.".to_owned()))?;
    let request = repo_map::Request { task: Some(task.to_owned()), ..repo_map::Request::default() };
    let map = repo_map::run(session, &request, call).map_err(|error: Error| wrong(error.to_string()))?.text;
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, format!("{map}\n{task}"))]))
}
