//! What to install on each operating system, for messages.

use std::fs;

use super::Source;

/// A group of operating systems on which the toolchain is installed in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    /// Debian, Ubuntu and their derivatives: packages by apt.
    Debian,
    Fedora,
    Arch,
    Suse,
    Alpine,
    OtherUnix,
    MacOs,
    Windows,
}

impl System {
    fn here() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            let release = fs::read_to_string("/etc/os-release").or_else(|_| fs::read_to_string("/usr/lib/os-release"));
            Self::of(&release.unwrap_or_default())
        }
    }

    /// The system that a file `/etc/os-release` describes.
    fn of(release: &str) -> Self {
        let field = |name: &str| {
            let value = release.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            value.trim_matches(['"', '\'']).to_owned()
        };
        let names = format!("{} {}", field("ID="), field("ID_LIKE="));
        let known = names.split_whitespace().find_map(|name| match name {
            "debian" | "ubuntu" => Some(Self::Debian),
            "fedora" | "rhel" | "centos" => Some(Self::Fedora),
            "arch" => Some(Self::Arch),
            "suse" | "opensuse" => Some(Self::Suse),
            "alpine" => Some(Self::Alpine),
            _ => None,
        });
        known.unwrap_or(Self::OtherUnix)
    }

    /// The command that installs rustup.
    fn install_rustup(self) -> &'static str {
        match self {
            Self::Fedora => "sudo dnf install -y gcc rustup && rustup-init -y && . ~/.cargo/env",
            Self::Arch => "sudo pacman -S --needed gcc rustup && rustup default stable",
            Self::Suse => "sudo zypper install -y gcc rustup && rustup default stable",
            Self::Alpine => "sudo apk add gcc musl-dev rustup && rustup-init -y && . ~/.cargo/env",
            Self::MacOs => "xcode-select --install; brew install rustup && rustup default stable",
            Self::Debian | Self::OtherUnix | Self::Windows => {
                "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y && . ~/.cargo/env"
            }
        }
    }

    /// The command that adds a toolchain. `rustup`: whether it is installed.
    fn advice(self, rustup: bool) -> String {
        match self {
            Self::Debian => Source::Apt.command(),
            Self::Windows => format!(
                "kernels are compiled on Linux and macOS; on Windows, run `wsl --install -d Debian`, and in its \
                 shell: {}",
                Source::Apt.command()
            ),
            _ => self.by_rustup(rustup),
        }
    }

    /// The command that adds a toolchain without packages of the system.
    fn by_rustup(self, rustup: bool) -> String {
        let components = Source::Rustup.command();
        let what = "adds the components rust-src and llvm-tools to rustup's stable toolchain";
        if rustup {
            format!("{components} ({what})")
        } else {
            format!("{} && {components} ({what})", self.install_rustup())
        }
    }
}

/// The command that adds a device toolchain on this machine.
pub(crate) fn advice() -> String {
    System::here().advice(has_rustup())
}

/// The command that adds a device toolchain where the system has no packages of one.
pub(crate) fn without_packages() -> String {
    System::here().by_rustup(has_rustup())
}

fn has_rustup() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join("rustup").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_recognised_by_their_release_file() {
        for (release, system) in [
            ("PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n", System::Debian),
            ("NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\n", System::Debian),
            ("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", System::Debian),
            ("NAME=\"Fedora Linux\"\nID=fedora\n", System::Fedora),
            ("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", System::Fedora),
            ("NAME=\"Arch Linux\"\nID=arch\n", System::Arch),
            ("ID=manjaro\nID_LIKE=arch\n", System::Arch),
            ("ID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\"\n", System::Suse),
            ("ID=alpine\n", System::Alpine),
            ("ID=nixos\n", System::OtherUnix),
            ("", System::OtherUnix),
        ] {
            assert_eq!(System::of(release), system, "{release}");
        }
    }

    #[test]
    fn every_system_has_a_command() {
        // This workspace has the task.
        assert_eq!(System::Debian.advice(false), "cargo xtask setup");
        for (system, command) in [
            (System::Fedora, "sudo dnf install"),
            (System::Arch, "sudo pacman -S"),
            (System::Suse, "sudo zypper install"),
            (System::Alpine, "sudo apk add"),
            (System::MacOs, "brew install rustup"),
            (System::OtherUnix, "curl --proto"),
        ] {
            let advice = system.advice(false);
            assert!(advice.contains(command) && advice.contains("&& cargo xtask setup --from rustup"), "{advice}");
            let advice = system.advice(true);
            assert!(advice.starts_with("cargo xtask setup --from rustup (adds the components rust-src"), "{advice}");
        }
        assert!(System::Windows.advice(true).contains("wsl --install -d Debian"));
        assert!(System::Debian.by_rustup(true).starts_with("cargo xtask setup --from rustup"), "old packages");
    }
}
