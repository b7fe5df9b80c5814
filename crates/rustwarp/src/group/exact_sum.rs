//! Correctly rounded sums: the ranks' exact sums are added exactly, and rounded once.

use super::devices::Group;
use super::sharded::Sharded;
use crate::element::Element;
use crate::error::Result;
use crate::exact_sum::{Plan, Real};
use crate::launch::Tuning;
use kernels_gpu::exact_sum::{round_totals, total_words};

impl Group {
    /// Correctly rounded sum of all elements; 0 if there are none. It has the same bits as
    /// [`exact_sum()`](crate::exact_sum::exact_sum()) of all elements on one device, for any number of ranks.
    ///
    /// # Errors
    /// Those of [`Group::sum`].
    pub fn exact_sum<T: Element + Real>(&self, values: &Sharded<T>) -> Result<T> {
        self.require(values.group, "the memory")?;
        let what = || format!("exact_sum of {} {}", values.len(), T::DTYPE);
        self.agreed(what, || {
            let words = total_words(size_of::<T>());
            let mut own = Vec::new();
            for (part, member) in values.views()?.into_iter().zip(&self.members) {
                let mut total = member.device.zeros::<i64>(words)?;
                Plan::<T>::new(&member.device, part.len(), Tuning::default())?.launch_digits(part, &mut total)?;
                own.push(total);
            }
            Ok(round_totals(self.values_of_ranks(&own)?.chunks(words)))
        })
    }
}
