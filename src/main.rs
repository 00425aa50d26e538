//! The command line: a thin shell over the library.

mod cli;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = cli::parse();
    limit_candle(cli.is_quantized());
    share_allocator();
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

/// Gives tree-sitter the program's allocator: with libc's, a sixth of the time of a map of a hundred files went into getting memory.
fn share_allocator() {
    use libmimalloc_sys::{mi_calloc, mi_free, mi_malloc, mi_realloc};
    let allocator = tree_sitter::Allocator { malloc: mi_malloc, calloc: mi_calloc, realloc: mi_realloc, free: mi_free };
    // SAFETY: the four belong together, and nothing has been parsed yet. They return null only when there is no memory left, as libc's do.
    unsafe { tree_sitter::set_allocator(Some(allocator)) };
}
