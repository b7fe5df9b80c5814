//! `host devices`: lists the available devices.

use super::exit::CLEAN;
use super::{look, output, stdout};
use ladders::table::{Column, Grid};
use rustwarp::backend::{self, DeviceInfo, human};
use rustwarp::diagnostic::note;

/// Options of the subcommand.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// Print one JSON object per device
    #[arg(long)]
    json: bool,
}

/// Prints the devices; without a GPU it prints the reason and lists the simulator.
pub(super) fn run(options: &Options) -> anyhow::Result<u8> {
    let (mut devices, why_none) = match backend::gpus() {
        Ok(devices) if devices.is_empty() => (devices, Some("no GPU: the driver finds none".to_owned())),
        Ok(devices) => (devices, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    devices.push(backend::simulator());
    if options.json {
        for device in &devices {
            stdout::line(&serde_json::to_string(device)?)?;
        }
    } else {
        let columns = [
            Column::text("device"),
            Column::sentences("name", 12),
            Column::text("arch"),
            Column::text("memory"),
            Column::text("SMs").rank(1),
            Column::text("L2").rank(3),
            Column::text("peak").rank(2),
            Column::text("driver").rank(4),
        ];
        let mut table = Grid::new(columns, output::ALL);
        for device in &devices {
            table.row(row(device));
        }
        stdout::line(&table.render(look::stdout()))?;
    }
    if let Some(why) = why_none {
        note(why);
    }
    Ok(CLEAN)
}

fn row(device: &DeviceInfo) -> [String; 8] {
    let dash = || "-".to_owned();
    [
        device.device.clone(),
        device.name.clone(),
        device.sm.map_or("any".to_owned(), |sm| format!("sm_{sm}")),
        human(device.memory),
        device.multiprocessors.to_string(),
        if device.l2 > 0 { human(device.l2) } else { dash() },
        device.peak_gbps.map_or_else(dash, |peak| format!("{peak:.0} GB/s")),
        device.driver.clone().unwrap_or_else(dash),
    ]
}
