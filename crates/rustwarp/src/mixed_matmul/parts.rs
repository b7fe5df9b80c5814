//! Products by single warps whose depth is divided, because their tiles would not fill the device: the sums of the
//! parts, and the launch that adds them.

use super::factor::JoinKernel;
use super::problem::Problem;
use crate::backend::{Handle, Memory, Shape, View};
use crate::element::Scalar;
use crate::epilogue::Parameters;
use crate::error::Result;
use crate::launch::Launch;
use crate::matmul::elements;
use cuda_std::launch::{Ptr, PtrMut};
use kernels_gpu::mma::join::BLOCK;
use kernels_gpu::tensor::mixed::problem::WIDE;

/// Most blocks that add sums; their threads then have several elements.
const BLOCKS: u64 = 2048;

/// The parts.
pub struct Parts<H: Handle> {
    /// Elements of the depth of a part.
    pub part: u32,
    /// Their number.
    pub count: u32,
    /// A matrix of sums for each.
    pub sums: Memory<u32, H>,
    join: JoinKernel,
}

/// The epilogue of sums that are added later.
pub fn of_sums<'a>() -> Parameters<'a> {
    // SAFETY: kernels do not read from null.
    let (addend, vectors) = unsafe { (Ptr::new(0), [Ptr::new(0); 3]) };
    Parameters { how: WIDE, alpha: 1.0, beta: 0.0, addend, vectors }
}

impl<H: Handle> Parts<H> {
    /// Memory for the parts of a product; `None` if it is not divided.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the device has too little.
    pub fn new(device: &H, problem: &Problem, part: u32, join: JoinKernel) -> Result<Option<Self>> {
        if part == 0 || problem.elements() == 0 {
            return Ok(None);
        }
        let count = problem.depth.div_ceil(part);
        let sums = elements(elements(problem.rows as usize, problem.columns as usize)?, count as usize)?;
        let sums = Memory::uninit(device.clone(), sums, "sums of the parts of a product")?;
        Ok(Some(Self { part, count, sums, join }))
    }

    /// The problem of the products that are the parts.
    pub fn problem(&self, whole: &Problem) -> Problem {
        let step = u64::from(whole.rows) * u64::from(whole.columns);
        let [a, b, _] = whole.pitches;
        Problem { count: self.count, steps: [0, 0, step], pitches: [a, b, whole.columns], ..*whole }
    }

    /// The launch that adds the sums and finishes them.
    ///
    /// # Safety
    /// The product has this size, and the epilogue its lengths; launches before write the sums.
    pub unsafe fn prepare<'a, O: Scalar>(
        &'a self,
        problem: &Problem,
        epilogue: Parameters<'a>,
        product: View<'a, O, H>,
    ) -> Launch<'a> {
        let Parameters { how, alpha, beta, addend, vectors: [row_scales, column_scales, bias] } = epilogue;
        let Problem { rows, columns, pitches: [.., pitch], .. } = *problem;
        // SAFETY: the view and the plan borrow the memory, of which these are the bytes.
        let (sums, out) = unsafe { (Ptr::new(self.sums.address()), PtrMut::new(product.address())) };
        let call = (self.join)(
            sums,
            self.count,
            out,
            rows,
            columns,
            pitch,
            how,
            alpha,
            beta,
            addend,
            row_scales,
            column_scales,
            bias,
        );
        let blocks = problem.elements().div_ceil(BLOCK.into()).min(BLOCKS) as u32;
        // SAFETY: by contract all matrices have their elements; the kernel takes any number of blocks.
        let launch = unsafe { Launch::new(call, Shape::linear(blocks, BLOCK)) };
        launch.using([self.sums.reads(), product.writes()])
    }
}
