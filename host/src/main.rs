//! Parses the command line, dispatches, prints the error, and sets the exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    match host::cli::main(std::env::args_os()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let text = format!("error: {}", host::cli::describe(&error, std::env::args_os()));
            rustwarp::diagnostic::note(host::cli::of_rank(&text));
            ExitCode::from(host::cli::exit_code(&error))
        }
    }
}
