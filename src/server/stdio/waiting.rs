//! The requests that wait for their answers: by id, as each id has one answer, and with the room they take.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Short requests that may wait at once. While there are more, none is read.
const MOST: usize = 128;
/// Bytes of a request that take the room of another.
const LONG: usize = 1 << 18;

/// The room of one request, until its answer is written.
pub type Place = OwnedSemaphorePermit;

/// The requests that wait.
pub struct Waiting {
    places: Mutex<HashMap<RequestId, Place>>,
    room: Arc<Semaphore>,
}

impl Waiting {
    pub fn new() -> Self {
        Self { places: Mutex::default(), room: Arc::new(Semaphore::new(MOST)) }
    }

    /// Whether a request under this id waits.
    pub fn has(&self, id: &RequestId) -> bool {
        self.places().contains_key(id)
    }

    /// Waits for room for a request of so many bytes, and notes it.
    pub async fn add(&self, id: RequestId, bytes: usize) {
        let places = (1 + bytes / LONG).min(MOST) as u32;
        if let Ok(place) = Arc::clone(&self.room).acquire_many_owned(places).await {
            self.places().insert(id, place);
        }
    }

    /// Forgets a request: its id may be used again.
    pub fn take(&self, id: &RequestId) -> Option<Place> {
        self.places().remove(id)
    }

    fn places(&self) -> MutexGuard<'_, HashMap<RequestId, Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
