//! Places of which there are only so many: whoever comes last takes that of whoever has been there for longest.
//!
//! So a crowd that holds its places and does nothing keeps nobody out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

/// A number of places, and how much those in them may hold together.
pub struct Places {
    most: usize,
    most_bytes: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    next: u64,
    bytes: usize,
    /// By when they came.
    holders: BTreeMap<u64, Holder>,
}

struct Holder {
    since: Instant,
    bytes: usize,
    /// Cancelled when the place is another's.
    lost: CancellationToken,
}

/// A place that is held, until dropped or lost.
pub struct Place {
    number: u64,
    places: Arc<Places>,
}

impl Places {
    /// Places that are all free.
    pub fn new(most: usize, most_bytes: usize) -> Arc<Self> {
        Arc::new(Self { most, most_bytes, taken: Mutex::default() })
    }

    /// Takes a place; `lost` is cancelled when it has to be left to others.
    pub fn take(self: &Arc<Self>, lost: CancellationToken) -> Place {
        let mut taken = self.lock();
        let number = taken.next;
        taken.next += 1;
        taken.holders.insert(number, Holder { since: Instant::now(), bytes: 0, lost });
        self.fit(&mut taken);
        Place { number, places: Arc::clone(self) }
    }

    /// Frees the place that is held for longest.
    pub fn free_oldest(&self) {
        self.lock().free_oldest();
    }

    /// Frees the places that are held for longer.
    pub fn free_older_than(&self, age: Duration) {
        let mut taken = self.lock();
        while taken.holders.first_key_value().is_some_and(|(_, holder)| holder.since.elapsed() > age) {
            taken.free_oldest();
        }
    }

    fn fit(&self, taken: &mut Taken) {
        while taken.holders.len() > self.most || taken.bytes > self.most_bytes {
            taken.free_oldest();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    fn free_oldest(&mut self) {
        if let Some((_, holder)) = self.holders.pop_first() {
            self.bytes -= holder.bytes;
            holder.lost.cancel();
        }
    }
}

impl Place {
    /// Notes that its holder has more bytes, for which others may lose their places.
    pub fn grow(&self, bytes: usize) {
        let mut taken = self.places.lock();
        if let Some(holder) = taken.holders.get_mut(&self.number) {
            holder.bytes += bytes;
            taken.bytes += bytes;
            self.places.fit(&mut taken);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        if let Some(holder) = taken.holders.remove(&self.number) {
            taken.bytes -= holder.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_takes_the_place_of_the_oldest() {
        let places = Places::new(2, 100);
        let lost: Vec<CancellationToken> = (0..4).map(|_| CancellationToken::new()).collect();
        let is_lost = || lost.iter().map(CancellationToken::is_cancelled).collect::<Vec<_>>();
        let first = places.take(lost[0].clone());
        drop(places.take(lost[1].clone()));
        let third = places.take(lost[2].clone());
        assert_eq!(is_lost(), [false; 4]);
        let fourth = places.take(lost[3].clone());
        assert_eq!(is_lost(), [true, false, false, false]);
        first.grow(1000);
        third.grow(60);
        assert_eq!(is_lost(), [true, false, false, false]);
        fourth.grow(41);
        assert_eq!(is_lost(), [true, false, true, false]);
        drop((first, third, fourth));
        let taken = places.lock();
        assert_eq!((taken.bytes, taken.holders.len()), (0, 0));
    }
}
