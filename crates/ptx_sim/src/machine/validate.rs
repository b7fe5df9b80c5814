//! Validation of a launch: what the driver would reject is rejected here, with the reason.

use super::frame::first_frame;
use super::launch::Launch;
use crate::occupancy::{Demand, Occupancy, occupancy};
use crate::profile::Profile;
use crate::program::{Function, Layout};
use crate::stop::{Stop, Triple, demangled};

const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
/// Bytes of static shared memory that ptxas accepts, for every architecture.
const MAX_STATIC_SHARED: u64 = 48 << 10;
const AXES: [&str; 3] = ["x", "y", "z"];

/// Placement of a launch's blocks on the device.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// Number of blocks that are resident at one time.
    pub resident: u64,
    /// Number of blocks of a cluster in x, y, z.
    pub cluster: [u32; 3],
}

/// Checks shape, parameters, shared memory, clusters, and room on the device.
///
/// # Errors
/// A usage stop with the code of the violated limit, such as `grid-size`, `block-size` or `parameters`.
pub fn launch(launch: &Launch<'_>, function: &Function, layout: &Layout, profile: &Profile) -> Result<Placed, Stop> {
    let name = demangled(&function.name);
    let refuse = |code, title: String| Err(Stop::usage(code, format!("cannot launch `{name}`: {title}")));
    for (axis, ((&blocks, most_blocks), (&threads, most_threads))) in
        AXES.iter().zip(launch.grid.iter().zip(MAX_GRID).zip(launch.block.iter().zip(MAX_BLOCK)))
    {
        if blocks == 0 || blocks > most_blocks {
            return refuse("grid-size", format!("{blocks} blocks in {axis}; 1 to {most_blocks} are possible"));
        }
        if threads == 0 || threads > most_threads {
            return refuse("block-size", format!("{threads} threads in {axis}; 1 to {most_threads} are possible"));
        }
    }
    let threads: u64 = launch.block.iter().map(|&n| u64::from(n)).product();
    let most = u64::from(profile.threads_per_block);
    if threads > most {
        return refuse("block-size", format!("a block of {threads} threads; at most {most} are possible"));
    }
    if let Some(required) = function.required_block.filter(|&required| required != launch.block) {
        let title = format!("the block is {}, but the kernel requires {}", Triple(launch.block), Triple(required));
        return refuse("block-size", title);
    }
    if let Some(most) = function.max_threads.filter(|&most| threads > u64::from(most)) {
        return refuse(
            "block-size",
            format!("a block of {threads} threads; the kernel was compiled for at most {most}"),
        );
    }
    params(launch, function)?;
    if function.counted_frame().saturating_add(first_frame(function)) > profile.stack_bytes {
        let title = format!(
            "each thread needs {} bytes of local memory; at most {} are possible",
            function.counted_frame(),
            profile.stack_bytes
        );
        return refuse("stack-size", title);
    }
    if layout.static_bytes > MAX_STATIC_SHARED {
        let title = format!(
            "{} bytes of static shared memory; ptxas accepts at most {MAX_STATIC_SHARED}, and more only as dynamic \
             shared memory",
            layout.static_bytes
        );
        return refuse("shared-size", title);
    }
    let shared = layout.static_bytes.saturating_add(launch.dynamic_shared);
    if shared > profile.shared_per_block {
        let (fixed, dynamic) = (layout.static_bytes, launch.dynamic_shared);
        let title = format!(
            "{shared} bytes of shared memory ({fixed} static, {dynamic} dynamic); a block of an {} has at most {}",
            profile.name, profile.shared_per_block
        );
        return refuse("shared-size", title);
    }
    let cluster = match cluster(launch, function, profile) {
        Ok(cluster) => cluster,
        Err(title) => return refuse("cluster-size", title),
    };
    let registers = launch.registers.unwrap_or(0);
    let found = occupancy(profile, &Demand { threads: threads as u32, registers, shared_bytes: shared });
    let resident = u64::from(found.blocks) * u64::from(profile.multiprocessors);
    let blocks: u64 = launch.grid.iter().map(|&n| u64::from(n)).product();
    if resident == 0 {
        let title = format!(
            "a block of {threads} threads with {registers} registers each and {shared} bytes of shared memory does \
            not fit on a multiprocessor: {}",
            why(&found)
        );
        return refuse("resources", title);
    }
    if launch.cooperative && blocks > resident {
        let title = format!(
            "the {blocks} blocks of a cooperative launch must be resident at one time, but an {} has room for \
            {resident}: {} on each of {} multiprocessors, {}",
            profile.name,
            found.blocks,
            profile.multiprocessors,
            why(&found)
        );
        return refuse("cooperative-size", title);
    }
    Ok(Placed { resident, cluster })
}

fn why(found: &Occupancy) -> String {
    let limits: Vec<String> = found.limits.iter().map(ToString::to_string).collect();
    format!("limited by {}", limits.join(" and "))
}

/// Returns the shape of the clusters: the launch's, or else the kernel's; one block without clusters.
fn cluster(launch: &Launch<'_>, function: &Function, profile: &Profile) -> Result<[u32; 3], String> {
    let cluster = match (launch.cluster, function.required_cluster) {
        (Some(asked), Some(required)) if asked != required => {
            return Err(format!("the cluster is {}, but the kernel requires {}", Triple(asked), Triple(required)));
        }
        (Some(cluster), _) | (None, Some(cluster)) => cluster,
        (None, None) => return Ok([1; 3]),
    };
    let blocks = cluster.iter().fold(1_u64, |blocks, &n| blocks.saturating_mul(u64::from(n)));
    if blocks == 0 || blocks > u64::from(profile.cluster_blocks) {
        let (name, most) = (&profile.name, profile.cluster_blocks);
        return Err(format!("a cluster of {} is {blocks} blocks; an {name} has room for 1 to {most}", Triple(cluster)));
    }
    if launch.grid.iter().zip(cluster).any(|(grid, cluster)| grid % cluster != 0) {
        return Err(format!("the grid {} is not a multiple of the cluster {}", Triple(launch.grid), Triple(cluster)));
    }
    Ok(cluster)
}

fn params(launch: &Launch<'_>, function: &Function) -> Result<(), Stop> {
    let name = demangled(&function.name);
    let (wanted, given) = (function.params.len(), launch.params.len());
    if wanted != given {
        let title = format!("cannot launch `{name}`: it takes {wanted} parameters, but {given} were given");
        return Err(Stop::usage("parameters", title));
    }
    for (index, (param, bytes)) in function.params.iter().zip(launch.params).enumerate() {
        if param.size != bytes.len() as u64 {
            let title = format!(
                "cannot launch `{name}`: parameter {index} (`{}`) has {} bytes, but {} were given",
                param.name,
                param.size,
                bytes.len()
            );
            return Err(Stop::usage("parameters", title));
        }
    }
    Ok(())
}
