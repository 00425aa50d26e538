//! Connections: how many there are, and how long they may do nothing.
//!
//! One with no request in hand has a place among the idle ones, and loses it to newcomers; so connections that are opened and left keep nobody out.

use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::Layer;

use super::places::{Place, Places};

/// How long a request's head may take to come, and the next request of a connection that stays open.
const HEAD: Duration = Duration::from_secs(15);
/// How long a client may take to read an answer, and a stream that tells of a call may go on before this begins.
pub const ANSWER: Duration = Duration::from_secs(600);
/// How often it is looked who takes too long.
const ROUND: Duration = Duration::from_secs(1);
/// How long nothing is accepted after that has failed: there are no descriptors, and others end meanwhile.
const PAUSE: Duration = Duration::from_millis(50);
/// How long connections may take to end after the server was told to stop.
const GRACE: Duration = Duration::from_secs(2);

/// A connection, as its requests see it.
#[derive(Clone)]
pub struct Connection {
    idle: Arc<Places>,
    /// Cancelled when its place is another's.
    lost: CancellationToken,
    place: Arc<Mutex<Option<Place>>>,
}

/// A connection that has a request in hand, until dropped.
pub struct Busy(Connection);

impl Connection {
    fn new(idle: &Arc<Places>) -> Self {
        let lost = CancellationToken::new();
        let place = Arc::new(Mutex::new(Some(idle.take(lost.clone()))));
        Self { idle: Arc::clone(idle), lost, place }
    }

    /// Keeps the connection from being closed for others. What is kept so has to be bounded otherwise.
    pub fn busy(&self) -> Busy {
        self.set(None);
        Busy(self.clone())
    }

    fn set(&self, place: Option<Place>) {
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.set(Some(self.0.idle.take(self.0.lost.clone())));
    }
}

/// Serves connections until `stop` is cancelled, of which so many may be idle.
pub async fn serve(listener: TcpListener, routes: Router, most_idle: usize, stop: CancellationToken) {
    let idle = Places::new(most_idle, 0);
    let mut open = JoinSet::new();
    let mut round = tokio::time::interval(ROUND);
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = open.join_next() => {}
            _ = round.tick() => idle.free_older_than(ANSWER),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(open.spawn(attend(stream, routes.clone(), Connection::new(&idle), stop.clone()))),
                Err(error) if is_of_the_other_end(&error) => {}
                Err(_) => {
                    idle.free_oldest();
                    tokio::time::sleep(PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    // Those that have not ended by then are dropped.
    let _ = tokio::time::timeout(GRACE, async { while open.join_next().await.is_some() {} }).await;
}

/// Serves one connection until it ends or loses its place; once the server stops, no further than the request in hand.
async fn attend(stream: TcpStream, routes: Router, connection: Connection, stop: CancellationToken) {
    let _ = stream.set_nodelay(true);
    let lost = connection.lost.clone();
    let service = TowerToHyperService::new(Extension(connection).layer(routes));
    let serving = http1::Builder::new().timer(TokioTimer::new()).header_read_timeout(HEAD).serve_connection(TokioIo::new(stream), service);
    tokio::pin!(serving);
    tokio::select! {
        _ = serving.as_mut() => return,
        () = lost.cancelled() => return,
        () = stop.cancelled() => serving.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        _ = serving => {}
        () = lost.cancelled() => {}
    }
}

/// Whether it is one connection that failed, before it was accepted.
fn is_of_the_other_end(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset)
}
