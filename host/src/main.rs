//! Parses the command line, dispatches, prints the error, and sets the exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    match host::cli::main(std::env::args_os()) {
        Ok(code) => ExitCode::from(code),
        // Nobody reads the output any more (`host list | head`): nothing to say, and no one to say it to.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", host::cli::describe(&error));
            ExitCode::from(host::cli::exit_code(&error))
        }
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let kinds = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind));
    kinds.into_iter().any(|kind| kind == std::io::ErrorKind::BrokenPipe)
}
