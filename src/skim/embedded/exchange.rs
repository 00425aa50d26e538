//! Keys and values that the threads of one window give each other.
//!
//! Each thread has some rows of the window and needs those of the others once a block. They wait for each other awake: as all have equally many
//! rows it is not for long, and a thread that sleeps takes longer to wake.

use std::sync::OnceLock;

use candle_core::{Result, Tensor, bail};

/// Looks at what is not there yet before the processor is offered to others.
const LOOKS: usize = 2000;

/// Keys and values of some rows, by heads: (H, rows, D / H) each. None of a thread that stopped.
type Given = Option<(Tensor, Tensor)>;

/// What is given at each block, by each thread.
pub struct Exchange {
    blocks: Vec<Vec<OnceLock<Given>>>,
}

/// One thread's side of it. When it is dropped early, with an error or a panic, the others are told and stop as well.
pub struct Side<'a> {
    exchange: &'a Exchange,
    thread: usize,
}

impl Exchange {
    /// For `threads` threads that go through `blocks` blocks.
    pub fn new(threads: usize, blocks: usize) -> Self {
        Self { blocks: (0..blocks).map(|_| (0..threads).map(|_| OnceLock::new()).collect()).collect() }
    }

    /// The side of the given thread.
    pub fn side(&self, thread: usize) -> Side<'_> {
        Side { exchange: self, thread }
    }
}

impl Side<'_> {
    /// Gives the keys and values of this thread's rows.
    pub fn give(&self, block: usize, keys: Tensor, values: Tensor) {
        self.set(block, Some((keys, values)));
    }

    /// The keys and values of all rows, as soon as every thread, this one too, has given its own: (H, N, D / H) each.
    ///
    /// # Errors
    /// A thread that stopped.
    pub fn all(&self, block: usize) -> Result<(Tensor, Tensor)> {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for slot in &self.exchange.blocks[block] {
            let Some((k, v)) = wait(slot) else { bail!("another part of the window could not be computed") };
            keys.push(k);
            values.push(v);
        }
        Ok((Tensor::cat(&keys, 1)?, Tensor::cat(&values, 1)?))
    }

    /// What was given first stays.
    fn set(&self, block: usize, given: Given) {
        let _ = self.exchange.blocks[block][self.thread].set(given);
    }
}

impl Drop for Side<'_> {
    fn drop(&mut self) {
        (0..self.exchange.blocks.len()).for_each(|block| self.set(block, None));
    }
}

fn wait(slot: &OnceLock<Given>) -> &Given {
    let mut looks = 0;
    loop {
        if let Some(given) = slot.get() {
            return given;
        }
        if looks < LOOKS {
            looks += 1;
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

    /// The first number of each row of the first head.
    fn firsts(rows: &Tensor) -> Vec<f32> {
        rows.get(0).and_then(|head| head.narrow(1, 0, 1)?.flatten_all()?.to_vec1()).expect("numbers")
    }

    #[test]
    fn every_thread_gets_all_rows_in_order() {
        let exchange = Exchange::new(3, 2);
        let rows = |thread: usize| Tensor::full(thread as f32, (2, 1 + thread, 4), &Device::Cpu).expect("a tensor");
        let run = |thread: usize| {
            let side = exchange.side(thread);
            let block = |block| {
                side.give(block, rows(thread), rows(thread));
                firsts(&side.all(block).expect("rows").1)
            };
            (0..2).map(block).collect::<Vec<_>>()
        };
        let run = &run;
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|thread| scope.spawn(move || run(thread))).collect();
            for thread in threads {
                assert_eq!(thread.join().expect("a thread"), vec![vec![0.0, 1.0, 1.0, 2.0, 2.0, 2.0]; 2]);
            }
        });
    }

    #[test]
    fn nobody_waits_for_a_thread_that_stopped() {
        let exchange = Exchange::new(2, 2);
        drop(exchange.side(1));
        let (side, rows) = (exchange.side(0), Tensor::zeros((2, 1, 4), candle_core::DType::F32, &Device::Cpu).expect("a tensor"));
        side.give(1, rows.clone(), rows);
        assert!(side.all(1).is_err());
    }
}
