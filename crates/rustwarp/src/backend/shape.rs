//! Shapes of launches.

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
    /// Whether all blocks are resident at the same time, so that they may wait for each other. It applies to the
    /// simulator only.
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

    /// Makes all blocks resident at the same time. It applies to the simulator only.
    pub fn cooperative(self) -> Self {
        Self { cooperative: true, ..self }
    }

    /// Number of threads in a block.
    pub fn threads(&self) -> u64 {
        self.block.iter().map(|&n| u64::from(n)).product()
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
