//! plan2geo: arguments → configuration → run → exit code.

fn main() -> std::process::ExitCode {
    plan2geo::cli::main()
}
