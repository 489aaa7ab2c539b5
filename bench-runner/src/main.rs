//! The command `bench-runner`: everything it does is in the library, so that tests enter by the same door.

use std::process::ExitCode;

fn main() -> ExitCode {
    bench_runner::cli::main()
}
