//! Dot product of vectors that are divided in the same way.

use super::devices::Group;
use super::sharded::Sharded;
use crate::dot::{Plan, Real};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::launch::Tuning;
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
            let parts = [a.views()?, b.views()?];
            let lens: Vec<usize> = parts[0].iter().map(|part| part.len()).collect();
            let make = || self.plans(&lens, 1, |device, len| Plan::<T>::new(device, len, Tuning::default()));
            let of_ranks = self.kept.with(lens.clone(), make, |plans| {
                let [a, b] = &parts;
                for ((plan, result), (a, b)) in plans.iter_mut().zip(a.iter().zip(b)) {
                    plan.launch([*a, *b], result)?;
                }
                self.values_of_ranks(plans.iter().map(|(_, result)| result))
            })?;
            Ok(of_ranks.into_iter().fold(Sum::identity(), Sum::combine))
        })
    }
}
