//! Parses the command line, dispatches, prints the error, and sets the exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    match host::cli::main(std::env::args_os()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            rustwarp::diagnostic::note(format_args!("error: {}", host::cli::describe(&error, std::env::args_os())));
            ExitCode::from(host::cli::exit_code(&error))
        }
    }
}
