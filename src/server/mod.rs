//! The tools over the Model Context Protocol, on stdio and HTTP. The only module that knows rmcp.
//!
//! Serves clients that initialize (2025-06-18, 2025-11-25) and those that discover (2026-07-28). Results are plain text and nothing else:
//! it is the one form that every client hands to its model as it is.

mod connections;
mod definitions;
pub mod http;
mod places;
mod prompts;
mod stdio;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorCode,
    GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::error::counted;
use crate::ledger::Ledger;
use crate::tools::{Call, Session};

/// How long clients may keep the list of tools: it never changes while the server runs.
const LIST_TTL_MS: u64 = 3_600_000;
/// Calls that are worked on at once, at least: each may hold a long line or two in memory, and few that take long must not keep out the others.
const AT_ONCE: usize = 8;
/// How long a call waits for its turn.
const PATIENCE: Duration = Duration::from_secs(60);
const BUSY: &str = "The server has too much to do; try again in a moment.";
/// What is said to a call whose parameters are not those of a call.
const CALL: &str = r#"params must have the name of a tool and an object of arguments: {"name": "head", "arguments": {"path": "a.txt"}}."#;
/// Time between progress notifications.
const PROGRESS: Duration = Duration::from_secs(1);
/// What the list of tools and the instructions cost an agent, in o200k tokens; a test counts them.
pub const SCHEMA_TOKENS: usize = 997;
/// What an agent is told about this server; for some clients it is all they see until they look for a tool.
pub const INSTRUCTIONS: &str = "You pay for every line you are shown: read what you need to be right, and no more. Do not know where? Ask search. Know a \
    name? read_file with symbol, or grep. Read definitions or lines rather than files, several in one call. For one thing in over 40 lines, add a complete context_focus_question with words its code may use in brackets: you get the lines that answer it, verbatim; \
    lines reads gaps back. Leave the question out for exact text, as before an edit.";

/// Serves a session to MCP clients.
#[derive(Clone)]
pub struct Server {
    session: Arc<Session>,
    /// Calls that may run at once.
    slots: Arc<Semaphore>,
    /// Where calls are noted.
    ledger: Option<Arc<Ledger>>,
    /// Whether it is noted that the agent was told of the tools.
    told: Arc<AtomicBool>,
}

impl Server {
    /// Wraps a session.
    pub fn new(session: Session) -> Self {
        let slots = Arc::new(Semaphore::new(std::thread::available_parallelism().map_or(1, usize::from).max(AT_ONCE)));
        Self { session: Arc::new(session), slots, ledger: None, told: Arc::default() }
    }

    /// The same with a ledger.
    #[must_use]
    pub fn with_ledger(self, ledger: Option<Arc<Ledger>>) -> Self {
        Self { ledger, ..self }
    }

    /// Starts what reads syntax, and loads the model, where nobody waits for it.
    fn warm_up(&self) {
        let session = Arc::clone(&self.session);
        std::thread::spawn(move || {
            session.syntax.warm_up();
            session.skimmer.warm_up();
        });
    }

    /// Notes, once, that the agent knows of the tools: it asks for them, or remembers them from a session before.
    fn note_session(&self, context: &RequestContext<RoleServer>) {
        if let Some(ledger) = &self.ledger
            && !self.told.swap(true, Ordering::Relaxed)
        {
            let client = context.client_info().map_or_else(String::new, |client| client.name.clone());
            ledger.session(&client, SCHEMA_TOKENS);
        }
    }

    /// Waits for a turn, unless the call is withdrawn.
    async fn slot(&self, cancel: &CancellationToken) -> Option<OwnedSemaphorePermit> {
        let slot = tokio::time::timeout(PATIENCE, Arc::clone(&self.slots).acquire_owned());
        cancel.run_until_cancelled(slot).await?.ok()?.ok()
    }

    /// Serves one client on stdin and stdout until it hangs up, or the server is told to stop. The model loads meanwhile.
    ///
    /// # Errors
    /// A client that goes before a session has begun.
    pub async fn serve_stdio(self, stop: CancellationToken) -> Result<(), String> {
        self.warm_up();
        let (input, output) = rmcp::transport::stdio_pipes();
        let (transport, rest) = stdio::open(input, output, stop.clone());
        let served = match self.serve(transport).await {
            Ok(service) => service.waiting().await.map(|_| ()).map_err(|error| error.to_string()),
            Err(_) if stop.is_cancelled() => Ok(()),
            Err(_) => Err("the client hung up before a session had begun".to_owned()),
        };
        rest.written().await;
        served
    }
}

/// Whether the client knows of lists that it may keep for a while.
fn may_keep(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// The tools as clients see them, in the order in which they are listed.
pub fn tools() -> Vec<Tool> {
    definitions::ALL.iter().map(definitions::Definition::tool).collect()
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let implementation = Implementation::new("codeskim", env!("CARGO_PKG_VERSION")).with_title("codeskim");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_prompts().build())
            .with_server_info(implementation)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.note_session(&context);
        let list = ListToolsResult::with_all_items(tools());
        Ok(if may_keep(&context) { list.with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Public) } else { list })
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools().into_iter().find(|tool| tool.name == name)
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let list = ListPromptsResult::with_all_items(prompts::all());
        Ok(if may_keep(&context) { list.with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Public) } else { list })
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let (session, cancel) = (Arc::clone(&self.session), context.ct.clone());
        let slot = self.slot(&cancel).await.ok_or_else(|| ErrorData::internal_error(BUSY, None))?;
        let work = move || {
            let _slot = slot;
            prompts::get(&session, &request.name, request.arguments.as_ref(), &Call { cancel, progress: None })
        };
        let stopped = |_| ErrorData::internal_error("The prompt stopped unexpectedly; the server goes on.", None);
        let (prompt, output) = tokio::task::spawn_blocking(work).await.map_err(stopped)??;
        if let (Some(ledger), Some(output)) = (&self.ledger, output) {
            ledger.call("repo_map", None, &output);
        }
        Ok(prompt.into())
    }

    /// What is none of the protocol's requests: also one of its methods with parameters that are not those of the method.
    async fn on_custom_request(&self, request: CustomRequest, _: RequestContext<RoleServer>) -> Result<CustomResult, ErrorData> {
        Err(match request.method.as_str() {
            "tools/call" => ErrorData::invalid_params(CALL, None),
            method => {
                let message = format!("There is no method {}, or not with these params.", crate::error::quote(method));
                ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
            }
        })
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let Some(definition) = definitions::ALL.iter().find(|definition| definition.name == request.name) else {
            let name = crate::error::quote(&request.name);
            return Err(ErrorData::invalid_params(format!("There is no tool {name}; call tools/list for those there are."), None));
        };
        self.note_session(&context);
        let Some(slot) = self.slot(&context.ct).await else { return Ok(CallToolResult::error(vec![ContentBlock::text(BUSY)]).into()) };
        let question =
            request.arguments.as_ref().and_then(|arguments| arguments.get("context_focus_question")?.as_str().map(str::to_owned));
        let files = Arc::new(AtomicUsize::new(0));
        let work = {
            let (session, files, cancel) = (Arc::clone(&self.session), Arc::clone(&files), context.ct.clone());
            tokio::task::spawn_blocking(move || {
                let _slot = slot;
                let progress = |count: usize, _: Option<usize>| files.store(count, Ordering::Relaxed);
                let call = Call { cancel, progress: Some(&progress) };
                (definition.run)(&session, request.arguments.unwrap_or_default(), &call)
            })
        };
        let result = with_progress(work, &context, &files).await;
        if let (Some(ledger), Ok(Ok(output))) = (&self.ledger, &result) {
            ledger.call(definition.name, question.as_deref(), output);
        }
        Ok(match result {
            Ok(Ok(output)) => CallToolResult::success(vec![ContentBlock::text(output.text)]),
            Ok(Err(error)) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
            Err(_) => {
                CallToolResult::error(vec![ContentBlock::text("The tool stopped unexpectedly; the server goes on. Try a smaller request.")])
            }
        }
        .into())
    }
}

/// Waits for the work, telling a client that asked for it how far it is.
async fn with_progress<T>(
    work: tokio::task::JoinHandle<T>,
    context: &RequestContext<RoleServer>,
    files: &AtomicUsize,
) -> Result<T, tokio::task::JoinError> {
    let Some(token) = context.meta.get_progress_token() else { return work.await };
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + PROGRESS, PROGRESS);
    let mut seconds = 0.0;
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            _ = ticks.tick() => {
                seconds += PROGRESS.as_secs_f64();
                let message = match files.load(Ordering::Relaxed) {
                    0 => "reading".to_owned(),
                    files => format!("{} searched", counted(files, "file")),
                };
                let progress = ProgressNotificationParam::new(token.clone(), seconds).with_message(message);
                // Once rmcp ends, nothing is sent but answers.
                tokio::select! {
                    done = &mut work => return done,
                    sent = context.peer.notify_progress(progress) => if sent.is_err() {
                        context.ct.cancel(); // nobody is listening any more
                    },
                }
            }
        }
    }
}
