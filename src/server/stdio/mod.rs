//! Messages over standard input and output, one a line, none too much.
//!
//! One task reads: what is no message is answered here, and the rest goes on to rmcp. Another writes, so that answers never interleave. While
//! too many requests wait for an answer that is read, no other is taken: a client that only writes fills no memory.

pub mod check;
mod lines;
mod waiting;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetMeta, JsonRpcMessage, ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use check::{Checked, check};
use lines::{Line, Lines};
use waiting::Waiting;

use crate::mend::mend;

/// What waits between the tasks, beside the requests themselves.
const AHEAD: usize = 16;
/// How long, after the input has ended, the requests in it may take to be answered.
const LAST_ANSWERS: Duration = Duration::from_secs(60);
/// How long the end waits for a client that reads slowly.
const LAST_LINES: Duration = Duration::from_secs(5);

/// What is written.
enum Reply {
    /// By rmcp: an answer, or news of a call.
    Message(Box<ServerJsonRpcMessage>),
    /// In place of an answer.
    Refusal(Value),
}

/// rmcp's side of the connection.
pub struct Stdio {
    messages: Receiver<ClientJsonRpcMessage>,
    replies: Option<Sender<Reply>>,
    waiting: Arc<Waiting>,
    stop: CancellationToken,
    /// By when all is to be answered, once the input has ended.
    until: Option<Instant>,
}

/// What is still to be written.
pub struct Rest(JoinHandle<()>);

impl Rest {
    /// Waits, not for long, until all is written.
    pub async fn written(self) {
        let _ = tokio::time::timeout(LAST_LINES, self.0).await;
    }
}

/// Begins to read and to write, until the input ends, the output is closed, or it is told to stop.
pub fn open(
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    stop: CancellationToken,
) -> (Stdio, Rest) {
    let (to_rmcp, messages) = channel(AHEAD);
    let (replies, to_write) = channel(AHEAD);
    let waiting = Arc::new(Waiting::new());
    let writing = tokio::spawn(write(output, to_write, Arc::clone(&waiting)));
    let stdio = Stdio { messages, replies: Some(replies.clone()), waiting: Arc::clone(&waiting), stop: stop.clone(), until: None };
    let refusals = replies;
    tokio::spawn(async move {
        tokio::select! {
            _ = read(input, &to_rmcp, &refusals, &waiting) => {}
            () = refusals.closed() => {}
            () = stop.cancelled() => {}
        }
    });
    (stdio, Rest(writing))
}

/// Reads to the end, or until nobody takes what is read.
async fn read(
    input: impl AsyncRead + Unpin,
    to_rmcp: &Sender<ClientJsonRpcMessage>,
    refusals: &Sender<Reply>,
    waiting: &Waiting,
) -> Option<()> {
    let mut lines = Lines::new(input);
    let mut begun = false;
    loop {
        let line = lines.next().await.ok()??;
        let (checked, bytes) = match &line {
            Line::Whole(line) => (check(&mend(line)), line.len()),
            Line::TooLong(start) => (Checked::Refused(check::too_long(start)), start.len()),
        };
        drop(line);
        let mut message = match checked {
            Checked::Message(message) => *message,
            Checked::Refused(answer) => {
                refusals.send(Reply::Refusal(answer)).await.ok()?;
                continue;
            }
            Checked::Dropped => continue,
        };
        match &mut message {
            JsonRpcMessage::Request(request) if waiting.has(&request.id) => {
                refusals.send(Reply::Refusal(check::id_in_use(&request.id))).await.ok()?;
                continue;
            }
            JsonRpcMessage::Request(request) => {
                begun |= begins(&request.request);
                request.id = waiting.add(request.id.clone(), bytes).await?;
            }
            // rmcp ends where it gets anything but a request before a session has begun.
            _ if !begun => continue,
            JsonRpcMessage::Notification(notification) => {
                if let Some(id) = withdrawn(&mut notification.notification) {
                    let Some(number) = waiting.withdraw(id) else { continue }; // nothing waits for an answer under it
                    *id = number;
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        to_rmcp.send(message).await.ok()?;
    }
}

/// Whether a session begins with this request.
fn begins(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let is_known = meta.protocol_version().is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version));
            is_known && meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
        }
    }
}

/// The request that a notification withdraws: it will have no answer.
fn withdrawn(notification: &mut ClientNotification) -> Option<&mut RequestId> {
    match notification {
        ClientNotification::CancelledNotification(cancelled) => cancelled.params.request_id.as_mut(),
        _ => None,
    }
}

/// Writes what comes, to the end.
async fn write(mut output: impl AsyncWrite + Unpin, mut replies: Receiver<Reply>, waiting: Arc<Waiting>) {
    while let Some(mut reply) = replies.recv().await {
        let mut place = None;
        if let Reply::Message(message) = &mut reply
            && let Some(id) = answered(message)
        {
            // The id is free before the answer is read, as the client may use it again at once. Its place is not, until the answer is written.
            let Some((own, its)) = waiting.take(id) else { continue }; // it was withdrawn
            (*id, place) = (own, Some(its));
        }
        let _place = place;
        let line = match &reply {
            Reply::Message(message) => serde_json::to_vec(message),
            Reply::Refusal(answer) => serde_json::to_vec(answer),
        };
        let Ok(mut line) = line.inspect_err(|error| tracing::error!(%error, "an answer is no JSON")) else { continue };
        line.push(b'\n');
        if output.write_all(&line).await.is_err() || output.flush().await.is_err() {
            return; // nobody reads any more
        }
    }
}

/// The request that a message answers.
fn answered(message: &mut ServerJsonRpcMessage) -> Option<&mut RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&mut response.id),
        JsonRpcMessage::Error(error) => error.id.as_mut(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let replies = self.replies.clone();
        async move {
            let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
            replies.ok_or_else(closed)?.send(Reply::Message(Box::new(message))).await.map_err(|_| closed())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        if self.until.is_none() {
            if let Some(message) = self.messages.recv().await {
                return Some(message);
            }
            self.until = Some(Instant::now() + LAST_ANSWERS);
        }
        // What was asked before the input ended is answered, unless nobody reads any more.
        if let (Some(until), Some(replies)) = (self.until, &self.replies) {
            tokio::select! {
                () = self.waiting.none_left() => {}
                () = replies.closed() => {}
                () = self.stop.cancelled() => {}
                () = tokio::time::sleep_until(until) => {}
            }
        }
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.replies = None;
        Ok(())
    }
}
