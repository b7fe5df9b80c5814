//! Dot product of vectors that are divided in the same way.

use super::devices::Group;
use super::sharded::Sharded;
use crate::dot::{Real, dot_into};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::reduce::Sum;
use kernels_gpu::operator::Operator;

impl Group {
    /// Dot product of two vectors of equal length. See [`dot()`](crate::dot::dot()); the ranks' products are added in
    /// their order.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for unequal lengths and for memory of another group, and those of [`Group::sum`].
    pub fn dot<T: Element + Real>(&self, a: &Sharded<T>, b: &Sharded<T>) -> Result<T> {
        self.require(a.group, "the first vector")?;
        self.require(b.group, "the second vector")?;
        if a.limits != b.limits {
            return Err(Error::Mismatch(format!(
                "a dot product takes two vectors of one length, divided in the same way, not {} and {} elements",
                a.len(),
                b.len()
            )));
        }
        let what = || format!("dot of {} {}", a.len(), T::DTYPE);
        self.agreed(what, || {
            let mut own = Vec::new();
            for ((a, b), member) in a.views()?.into_iter().zip(b.views()?).zip(&self.members) {
                let mut result = member.device.uninit::<T>(1)?;
                dot_into(a, b, &mut result)?;
                own.push(result);
            }
            Ok(self.values_of_ranks(&own)?.into_iter().fold(Sum::identity(), Sum::combine))
        })
    }
}
