//! HTTP: MCP at /mcp, and SWE-Pruner's protocol at /prune and /health.
//!
//! Served to this machine unless another address is asked for, which takes a token. A browser's page from elsewhere cannot reach it: requests from
//! an origin that is not this machine are refused, and so are, where only this machine is served, those for another host, as both could come from
//! any page that a user opens.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use http_body_util::BodyExt;
use rmcp::model::ErrorCode;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use subtle::ConstantTimeEq;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower::Layer;

use super::connections::{self, Connection};
use super::places::{Place, Places};
use super::stdio::check::too_many_values;
use super::{PATIENCE, Server};
use crate::error::shorten;
use crate::mend::mend;
use crate::prune_protocol::Pruner;
use crate::skim::{SkimError, protocol};

/// Longest request, in bytes.
const LARGEST_REQUEST: usize = 16 << 20;
/// As much of a request that is refused is read before the answer is sent.
const LINGER: usize = 4 * LARGEST_REQUEST;
/// Requests that wait for their turn; more are turned away.
const QUEUE: usize = 32;
/// Bodies that are coming in; more take the places of those that have taken longest.
const COMING: usize = 64;
/// Bytes of them together, for the same.
const COMING_BYTES: usize = 8 * LARGEST_REQUEST;
/// Connections without a request in hand; more take the places of those that have been idle for longest.
const IDLE: usize = 256;
/// How long a request's body may take to come.
const BODY: Duration = Duration::from_secs(30);
/// How long a request that is refused may go on sending, so that it sees why.
const DRAIN: Duration = Duration::from_secs(1);

/// Who may ask, and how many at once.
struct Gate {
    /// Asked of every request but /health.
    token: Option<String>,
    /// Whether only this machine is served.
    loopback: bool,
    /// Requests whose bodies are coming in.
    coming: Arc<Places>,
    /// Requests that run or wait.
    admitted: Arc<Semaphore>,
    /// Refused requests that are read to their end.
    draining: Semaphore,
}

/// What the handlers of /prune share.
struct Service {
    pruner: Pruner,
    /// Texts that may be scored at once.
    slots: Arc<Semaphore>,
    stop: CancellationToken,
}

/// Serves until `stop` is cancelled. `token` is needed from every client if there is one.
///
/// # Errors
/// A listener that fails.
pub async fn serve(
    server: Server,
    pruner: Pruner,
    listener: TcpListener,
    token: Option<String>,
    stop: CancellationToken,
) -> std::io::Result<()> {
    server.warm_up();
    let at_once = std::thread::available_parallelism().map_or(1, usize::from);
    // Half of the descriptors at most, as files take them too.
    let descriptors = descriptors();
    let gate = Arc::new(Gate {
        token,
        loopback: listener.local_addr()?.ip().is_loopback(),
        coming: Places::new((descriptors / 8).clamp(1, COMING), COMING_BYTES),
        admitted: Arc::new(Semaphore::new((descriptors / 8).clamp(1, at_once + QUEUE))),
        draining: Semaphore::new(QUEUE),
    });
    let slots = Arc::new(Semaphore::new(at_once));
    // Hosts and origins are checked by the gate, for all routes alike.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .disable_allowed_hosts()
        .with_max_request_body_bytes(LARGEST_REQUEST)
        .with_cancellation_token(stop.child_token());
    let mcp = StreamableHttpService::new(move || Ok(server.clone()), Arc::new(LocalSessionManager::default()), config);
    let service = Arc::new(Service { pruner, slots, stop: stop.clone() });
    let routes = Router::new()
        .route("/prune", post(prune))
        .layer(DefaultBodyLimit::max(LARGEST_REQUEST))
        .nest_service("/mcp", from_fn(as_json_rpc).layer(mcp))
        .route_layer(from_fn_with_state(gate, admit))
        .route("/health", get(health))
        .fallback(async || {
            detail(
                StatusCode::NOT_FOUND,
                "There is nothing here: MCP is at /mcp, pruning at POST /prune, and GET /health says whether the model is loaded.",
            )
        })
        .method_not_allowed_fallback(async || detail(StatusCode::METHOD_NOT_ALLOWED, "Use POST for /prune and GET for /health."))
        .with_state(service);
    connections::serve(listener, routes, (descriptors / 4).clamp(1, IDLE), stop).await;
    Ok(())
}

/// Files and connections that this process may have open.
fn descriptors() -> usize {
    #[cfg(unix)]
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(not(unix))]
    let most: Option<u64> = None;
    most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX)
}

/// The address that is meant: a port alone is one of this machine.
///
/// # Errors
/// What is no address, in words.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let whole = if text.parse::<u16>().is_ok() { format!("127.0.0.1:{text}") } else { text.replace("localhost:", "127.0.0.1:") };
    whole.parse().map_err(|_| "give an address such as 127.0.0.1:8000, or a port".to_owned())
}

fn detail(status: StatusCode, detail: impl Into<String>) -> Response {
    (status, Json(json!({ "detail": detail.into() }))).into_response()
}

/// Turns away who may not ask; then bodies that are too long or do not come; then more than can wait. A request whose body has come waits for none
/// that has not.
async fn admit(State(gate): State<Arc<Gate>>, Extension(connection): Extension<Connection>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let lost = CancellationToken::new();
    if let Some(refusal) = gate.refusal(&parts.headers) {
        // A client that waits for a word before it sends the body has it now.
        if !parts.headers.contains_key(header::EXPECT)
            && let Ok(_draining) = gate.draining.try_acquire()
        {
            let _ = tokio::time::timeout(DRAIN, read(body, 0, None)).await;
        }
        return refusal;
    }
    let busy_until = connection.busy();
    let coming = gate.coming.take(lost.clone());
    let read = tokio::select! {
        () = lost.cancelled() => return busy(),
        read = tokio::time::timeout(BODY, read(body, LARGEST_REQUEST, Some(&coming))) => read,
    };
    drop(coming);
    let body = match read {
        Ok(Ok(Some(body))) => body,
        Ok(Ok(None)) => {
            return detail(StatusCode::PAYLOAD_TOO_LARGE, format!("The request has more than {} MB.", LARGEST_REQUEST >> 20));
        }
        Ok(Err(_)) => return detail(StatusCode::BAD_REQUEST, "The request's body broke off."),
        Err(_) => return detail(StatusCode::REQUEST_TIMEOUT, "The request's body did not come in time."),
    };
    let Ok(admitted) = Arc::clone(&gate.admitted).try_acquire_owned() else { return busy() };
    let body = match mend(&body) {
        Cow::Owned(mended) => mended,
        Cow::Borrowed(_) => body,
    };
    let answer = next.run(Request::from_parts(parts, body.into())).await;
    let is_stream = answer.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if is_stream { answer.map(|body| held(body, (busy_until, admitted))) } else { answer }
}

/// A body that tells of a call as it goes on, and holds what the call holds to its end; no longer than a client may take to read an answer.
fn held(body: Body, what: impl Send + 'static) -> Body {
    let held = Arc::new(Mutex::new(Some(what)));
    let weak = Arc::downgrade(&held);
    tokio::spawn(async move {
        tokio::time::sleep(connections::ANSWER).await;
        let held = weak.upgrade();
        held.iter().for_each(|held| drop(held.lock().unwrap_or_else(PoisonError::into_inner).take()));
    });
    Body::new(body.map_frame(move |frame| {
        let _ = &held;
        frame
    }))
}

/// A body of up to `most` bytes; none if it is longer. The rest of a longer one is read and dropped, up to [`LINGER`] bytes, because a client
/// that is still sending when the connection closes sees a broken pipe and never the answer.
async fn read(mut body: Body, most: usize, coming: Option<&Place>) -> Result<Option<Vec<u8>>, axum::Error> {
    let (mut kept, mut length) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        length += data.len();
        match length {
            length if length <= most => {
                coming.into_iter().for_each(|place| place.grow(data.len()));
                kept.extend_from_slice(&data);
            }
            length if length > LINGER => break,
            _ => kept = Vec::new(),
        }
    }
    Ok((length <= most).then_some(kept))
}

impl Gate {
    fn refusal(&self, headers: &HeaderMap) -> Option<Response> {
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        if self.loopback && text(header::HOST).is_some_and(|host| !is_this_machine(host)) {
            return Some(detail(StatusCode::FORBIDDEN, "This server is asked for by the name of another host; use localhost."));
        }
        let origin = text(header::ORIGIN).map(|origin| origin.split_once("://").map_or(origin, |(_, host)| host));
        if origin.is_some_and(|origin| !is_this_machine(origin)) {
            return Some(detail(StatusCode::FORBIDDEN, "Pages of other origins may not use this server."));
        }
        let token = self.token.as_ref()?;
        let given =
            text(header::AUTHORIZATION).and_then(|value| value.split_once(' ')).filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer"));
        if given.is_some_and(|(_, given)| bool::from(given.as_bytes().ct_eq(token.as_bytes()))) {
            return None;
        }
        let refusal = detail(StatusCode::UNAUTHORIZED, "This server needs its token: send \"Authorization: Bearer TOKEN\".");
        Some(([(header::WWW_AUTHENTICATE, "Bearer")], refusal).into_response())
    }
}

/// Whether a host, with or without a port, is a name of this machine for itself.
fn is_this_machine(host: &str) -> bool {
    let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(name, _)| name);
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn busy() -> Response {
    ([(header::RETRY_AFTER, "1")], detail(StatusCode::SERVICE_UNAVAILABLE, "Too many requests wait already; try again.")).into_response()
}

/// Answers a message that cannot be read as JSON-RPC does; all others are the server's to answer.
async fn as_json_rpc(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = body.collect().await.map(|body| body.to_bytes()) else {
        return detail(StatusCode::BAD_REQUEST, "The request's body broke off.");
    };
    let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_json = kind.to_ascii_lowercase().starts_with("application/json");
    if let Some(refusal) = too_many_values(&body) {
        return (StatusCode::BAD_REQUEST, Json(refusal)).into_response();
    }
    let answer = next.run(Request::from_parts(parts, body.clone().into())).await;
    if is_json && answer.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE { unreadable(&body) } else { answer }
}

fn unreadable(message: &Bytes) -> Response {
    let (code, id, problem) = match serde_json::from_slice::<Value>(message) {
        Err(error) => (ErrorCode::PARSE_ERROR, Value::Null, format!("The request is not valid JSON: {error}.")),
        Ok(message) => {
            let id = message.get("id").filter(|id| id.is_number() || id.is_string()).cloned();
            let problem = "This is no message of JSON-RPC: a method with an object of params, or an answer.".to_owned();
            (ErrorCode::INVALID_REQUEST, id.unwrap_or_default(), problem)
        }
    };
    let error = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code.0, "message": problem } });
    (StatusCode::BAD_REQUEST, Json(error)).into_response()
}

async fn health(State(service): State<Arc<Service>>) -> Response {
    Json(json!({ "status": "healthy", "model_loaded": service.pruner.is_ready() })).into_response()
}

async fn prune(State(service): State<Arc<Service>>, request: Result<Json<protocol::Request>, JsonRejection>) -> Response {
    let request = match request {
        Ok(Json(request)) => request,
        Err(rejection) => {
            let status =
                if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE { rejection.status() } else { StatusCode::UNPROCESSABLE_ENTITY };
            return detail(status, shorten(&rejection.body_text()));
        }
    };
    // A client that goes away drops this future, and with it the guard, which ends the work; the slot is taken until it has ended.
    let cancel = service.stop.child_token();
    let _gone = cancel.clone().drop_guard();
    let Ok(Ok(slot)) = tokio::time::timeout(PATIENCE, Arc::clone(&service.slots).acquire_owned()).await else { return busy() };
    let pruner = service.pruner.clone();
    let work = move || {
        let _slot = slot;
        pruner.prune(&request, &cancel)
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(response)) => Json(response).into_response(),
        Ok(Err(error @ (SkimError::TooLong { .. } | SkimError::TooLarge(_)))) => detail(StatusCode::PAYLOAD_TOO_LARGE, format!("{error}.")),
        Ok(Err(SkimError::Cancelled)) => detail(StatusCode::SERVICE_UNAVAILABLE, "This server is stopping; ask another."),
        Ok(Err(SkimError::Loading)) => detail(StatusCode::SERVICE_UNAVAILABLE, "The model is still loading; try again."),
        Ok(Err(error)) => detail(StatusCode::INTERNAL_SERVER_ERROR, format!("The text could not be pruned: {error}.")),
        Err(_) => detail(StatusCode::INTERNAL_SERVER_ERROR, "The pruner stopped unexpectedly; the server goes on."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_its_own() {
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:8000", "127.9.9.9", "[::1]:8000", "[::1]"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["example.com", "localhost.example.com:80", "10.0.0.1:80", "null", "", "127.0.0.1.nip.io"] {
            assert!(!is_this_machine(host), "{host}");
        }
        assert_eq!(address("8000").map(|a| a.to_string()), Ok("127.0.0.1:8000".to_owned()));
        assert!(address("everywhere").is_err());
    }
}
