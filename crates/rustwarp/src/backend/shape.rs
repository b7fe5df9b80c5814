//! Shapes of launches.

use crate::error::{Error, Result};
use cuda_std::launch::Call;
use std::fmt;

/// The shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shape {
    /// Number of blocks along x, y and z.
    pub grid: [u32; 3],
    /// Number of threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block in bytes.
    pub shared: u32,
    /// Blocks of a cluster; `None` for the size that the kernel requires. It applies to the simulator only.
    pub cluster: Option<[u32; 3]>,
    /// Whether all blocks are resident at the same time, so that they may wait for each other.
    pub cooperative: bool,
}

impl Shape {
    /// A shape of these numbers of blocks, and of threads of a block, along x, y and z, without dynamic shared memory.
    pub fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self { grid, block, shared: 0, cluster: None, cooperative: false }
    }

    /// A one-dimensional shape without dynamic shared memory.
    pub fn linear(grid: u32, block: u32) -> Self {
        Self::new([grid, 1, 1], [block, 1, 1])
    }

    /// Sets the dynamic shared memory in bytes.
    pub fn with_shared(self, bytes: u32) -> Self {
        Self { shared: bytes, ..self }
    }

    /// Sets the number of blocks of a cluster. It applies to the simulator only.
    pub fn with_cluster(self, blocks: [u32; 3]) -> Self {
        Self { cluster: Some(blocks), ..self }
    }

    /// Makes all blocks resident at the same time. A launch of more blocks than the device has room for is refused.
    pub fn cooperative(self) -> Self {
        Self { cooperative: true, ..self }
    }

    /// Number of threads in a block.
    pub fn threads(&self) -> u64 {
        self.block.iter().map(|&n| u64::from(n)).product()
    }

    /// Checks that the launch can replace one in a graph, which is `cooperative` or is not.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if this one is otherwise.
    pub(super) fn require_like(&self, cooperative: bool) -> Result<()> {
        if self.cooperative == cooperative {
            return Ok(());
        }
        Err(Error::Mismatch(
            "a cooperative launch and another one do not replace each other: capture a graph of its own".to_owned(),
        ))
    }

    /// Checks that the launch has no more dimensions than the views of the kernel allow.
    ///
    /// # Errors
    /// [`Error::Argument`] with both numbers.
    pub(super) fn require_dimensions(&self, call: &Call<'_>) -> Result<()> {
        let allowed = call.dimensions();
        let used = (0..3).rev().find(|&axis| self.grid[axis] > 1 || self.block[axis] > 1).map_or(1, |axis| axis + 1);
        if used as u32 <= allowed {
            return Ok(());
        }
        Err(Error::Argument(format!(
            "a launch of `{}` ({self}) has {used} dimensions, and the indices of its views are unique in {allowed}: \
             use 1 block and 1 thread along the other axes",
            call.entry
        )))
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (g, b) = (self.grid, self.block);
        write!(f, "grid {}x{}x{}, block {}x{}x{}", g[0], g[1], g[2], b[0], b[1], b[2])?;
        if self.shared > 0 {
            write!(f, ", {} bytes of dynamic shared memory", self.shared)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuda_std::launch::SliceMut;

    #[test]
    fn cooperative_launches_replace_cooperative_ones() {
        let (plain, together) = (Shape::linear(4, 32), Shape::linear(4, 32).cooperative());
        assert_eq!([plain.require_like(false), together.require_like(true)].map(|result| result.is_ok()), [true; 2]);
        for refused in [plain.require_like(true), together.require_like(false)] {
            assert!(matches!(refused, Err(Error::Mismatch(_))));
        }
    }

    #[test]
    fn a_view_of_one_dimension_is_not_launched_in_two() {
        let mut call = Call::new("k");
        let flat = Shape::linear(4, 32);
        let [wide, deep] = [Shape { grid: [4, 2, 1], ..flat }, Shape { block: [32, 1, 2], ..flat }];
        let accepted = |call: &Call<'_>| [flat, wide, deep].map(|shape| shape.require_dimensions(call).is_ok());
        assert_eq!(accepted(&call), [true, true, true]);
        // SAFETY: nothing is launched.
        let [one, two] = [0, 1].map(|_| unsafe { SliceMut::<f32>::new(0, 0) });
        call.matrix_mut(two.matrix(0, 0));
        assert_eq!(accepted(&call), [true, true, false]);
        call.slice_mut(one);
        assert_eq!(accepted(&call), [true, false, false]);
        let error = wide.require_dimensions(&call).expect_err("two dimensions").to_string();
        assert!(error.contains("has 2 dimensions") && error.contains("unique in 1"), "{error}");
    }
}
