//! How far the estimates of each family were from the measured times. A test derives the table again from the readings.

/// The device that was measured.
pub const DEVICE: &str = "H200";

/// The estimates of a family's rungs compared with their measured times at up to 2^20 elements. Families that were not
/// measured there are compared at up to 2^22, products of matrices at up to 2^18.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accuracy {
    /// Name of the family.
    pub family: &'static str,
    /// Number of measured rows.
    pub rows: u32,
    /// Mean of |log(estimate / measured)| in per cent.
    pub off: u32,
}

/// The families of which rows were compared, by name.
pub const ACCURACY: [Accuracy; 15] = [
    row("access", 7, 9),
    row("atomics", 3, 2),
    row("conv1d", 6, 10),
    row("divergence", 4, 3),
    row("dot", 5, 8),
    row("exact_sum", 4, 4),
    row("histogram", 7, 7),
    row("matmul", 24, 7),
    row("matvec", 12, 15),
    row("reduce", 40, 5),
    row("scan", 24, 6),
    row("segreduce", 4, 6),
    row("texture", 4, 15),
    row("transpose", 12, 6),
    row("vecadd", 4, 6),
];

const fn row(family: &'static str, rows: u32, off: u32) -> Accuracy {
    Accuracy { family, rows, off }
}

/// Describes how far the estimates of a family were off, if they were compared.
pub fn sentence(family: &str) -> Option<String> {
    let Accuracy { family, rows, off } = ACCURACY.iter().find(|accuracy| accuracy.family == family)?;
    Some(format!(
        "estimates of {family} were off by {off} % on average over {rows} measured rows of an {DEVICE} with up to 2^22 \
         elements"
    ))
}
