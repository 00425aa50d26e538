//! The requests that wait for their answers: by id, as each id has one answer, and with the room they take.
//!
//! To rmcp each has a number of its own: where a client uses the id of a call again that it has withdrawn, the late answer to the first is not the second's.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Short requests that may wait at once. While there are more, none is read.
const MOST: usize = 128;
/// Bytes of a request that take the room of another.
const LONG: usize = 1 << 18;

/// The room of one request, until its answer is written.
pub type Place = OwnedSemaphorePermit;

/// The requests that wait.
pub struct Waiting {
    waits: Mutex<Waits>,
    room: Arc<Semaphore>,
    /// Told when none is left.
    none_left: Notify,
}

#[derive(Default)]
struct Waits {
    /// The number of the last request.
    last: i64,
    /// Their numbers, by their ids.
    numbers: HashMap<RequestId, i64>,
    /// Their ids and places, by their numbers.
    places: HashMap<i64, (RequestId, Place)>,
}

impl Waiting {
    pub fn new() -> Self {
        Self { waits: Mutex::default(), room: Arc::new(Semaphore::new(MOST)), none_left: Notify::new() }
    }

    /// Whether a request under this id waits.
    pub fn has(&self, id: &RequestId) -> bool {
        self.waits().numbers.contains_key(id)
    }

    /// Waits for room for a request of so many bytes, and notes it; its number.
    pub async fn add(&self, id: RequestId, bytes: usize) -> Option<RequestId> {
        let places = (1 + bytes / LONG).min(MOST) as u32;
        let place = Arc::clone(&self.room).acquire_many_owned(places).await.ok()?;
        let mut waits = self.waits();
        waits.last += 1;
        let number = waits.last;
        waits.numbers.insert(id.clone(), number);
        waits.places.insert(number, (id, place));
        Some(RequestId::Number(number))
    }

    /// Forgets a request that is withdrawn, whose id may be used again; its number.
    pub fn withdraw(&self, id: &RequestId) -> Option<RequestId> {
        let number = self.waits().numbers.get(id).copied()?;
        drop(self.take(&RequestId::Number(number))?);
        Some(RequestId::Number(number))
    }

    /// Forgets a request that is answered, whose id may be used again; none if it was withdrawn.
    pub fn take(&self, number: &RequestId) -> Option<(RequestId, Place)> {
        let RequestId::Number(number) = number else { return None };
        let mut waits = self.waits();
        let taken = waits.places.remove(number)?;
        waits.numbers.remove(&taken.0);
        if waits.places.is_empty() {
            self.none_left.notify_waiters();
        }
        Some(taken)
    }

    /// Waits until no request waits.
    pub async fn none_left(&self) {
        let told = self.none_left.notified();
        tokio::pin!(told);
        told.as_mut().enable();
        if !self.waits().places.is_empty() {
            told.await;
        }
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
