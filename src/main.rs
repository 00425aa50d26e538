//! The command line: a thin shell over the library.

mod allocator;
mod cli;

use std::process::ExitCode;

use codeskim::syntax::worker;

#[global_allocator]
static ALLOCATOR: allocator::Limited = allocator::Limited;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|first| first == worker::ARGUMENT) {
        allocator::share();
        return worker::serve(allocator::limit);
    }
    let cli = cli::parse();
    limit_candle(cli.is_quantized());
    cli::run(cli)
}

/// Keeps candle from its own pool of threads, unless the weights are quantized, whose products know no other: the windows of a text already run
/// in parallel, and that pool spins while it waits, so that two cores took 155 ms over 800 lines with it and 67 ms without. Naming rayon's
/// threads keeps candle from reading /proc/cpuinfo at every matrix product.
fn limit_candle(quantized: bool) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for (name, value) in [("CANDLE_NUM_THREADS", if quantized { threads } else { 1 }), ("RAYON_NUM_THREADS", threads)] {
        if std::env::var_os(name).is_none() {
            // SAFETY: no other thread has been started.
            unsafe { std::env::set_var(name, value.to_string()) };
        }
    }
}
