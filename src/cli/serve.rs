//! Serving: stdin and stdout, or HTTP.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use codeskim::error::{Error, Result};
use codeskim::ledger::Ledger;
use codeskim::prune_protocol::Pruner;
use codeskim::server::{Server, http};
use codeskim::tools::{Output, Session};
use tokio_util::sync::CancellationToken;

/// How long calls may take to end after the client has gone.
const LAST_CALLS: Duration = Duration::from_millis(500);

/// Serves one client on stdin and stdout until it hangs up, or the process is told to stop.
pub fn stdio(session: Session, ledger: Option<Ledger>) -> Result<Output> {
    let ledger = ledger.map(Arc::new);
    let served = until_the_end(|| async {
        let server = Server::new(session).with_ledger(ledger.clone());
        server.serve_stdio(stop_when_told()).await.map_err(not_served)
    });
    if let Some(ledger) = ledger {
        ledger.close();
    }
    served
}

/// Serves over HTTP until the process is told to stop.
pub fn over_http(session: Session, pruner: Pruner, address: SocketAddr) -> Result<Output> {
    let token = std::env::var_os("CODESKIM_TOKEN").filter(|token| !token.is_empty()).map(|token| token.into_string().unwrap_or_default());
    if token.as_ref().is_some_and(|token| token.is_empty() || token.contains(|c: char| !c.is_ascii_graphic())) {
        return Err(Error::bad_argument("CODESKIM_TOKEN has characters in it that no token has; use printable ASCII without blanks."));
    }
    if token.is_none() && !address.ip().is_loopback() {
        let message =
            format!("{address} can be reached by others: set CODESKIM_TOKEN to the token that clients are to send, or serve 127.0.0.1.");
        return Err(Error::bad_argument(message));
    }
    until_the_end(|| async move {
        let taken =
            |error: io::Error| Error::failed(format!("{address} cannot be served ({error}); give another port, or 0 for a free one."));
        let listener = tokio::net::TcpListener::bind(address).await.map_err(taken)?;
        let bound = listener.local_addr().map_err(taken)?;
        let _ = writeln!(io::stderr().lock(), "codeskim: serving MCP at http://{bound}/mcp and http://{bound}/prune");
        http::serve(Server::new(session), pruner, listener, token, stop_when_told()).await.map_err(not_served)
    })
}

/// Cancelled once the process is told to stop.
fn stop_when_told() -> CancellationToken {
    let stop = CancellationToken::new();
    let told = stop.clone();
    tokio::spawn(async move {
        told_to_stop().await;
        told.cancel();
    });
    stop
}

/// Ends with an interrupt or a request to terminate.
async fn told_to_stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => return,
                _ = tokio::signal::ctrl_c() => return,
            }
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

fn not_served(error: impl std::fmt::Display) -> Error {
    Error::failed(format!("The MCP session could not be served: {error}."))
}

fn until_the_end<F: Future<Output = Result<()>>>(serving: impl FnOnce() -> F) -> Result<Output> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(not_served)?;
    let served = runtime.block_on(serving());
    runtime.shutdown_timeout(LAST_CALLS); // the clients are gone: nobody waits for what is still running
    served?;
    Ok(Output::new(""))
}
