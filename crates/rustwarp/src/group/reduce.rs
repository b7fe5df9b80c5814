//! One value from the elements of all ranks: sum, maximum, minimum.

use super::devices::Group;
use super::sharded::Sharded;
use crate::backend::ViewMut;
use crate::element::Element;
use crate::error::Result;
use crate::launch::Tuning;
use crate::reduce::{Max, Min, Op, Plan, Sum};

impl Group {
    /// Sum of all elements; 0 if there are none. See [`reduce::sum`](crate::reduce::sum); the ranks' sums are added in
    /// their order.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for memory of another group, [`Error::Group`](crate::Error::Group)
    /// if ranks differ or end, [`Error::NoPtx`](crate::Error::NoPtx) if the kernels are not built, and the errors of
    /// the devices.
    pub fn sum<T: Element>(&self, values: &Sharded<T>) -> Result<T> {
        self.reduce::<Sum, T>(values, "sum")
    }

    /// Largest element; the type's lowest value if there are none. See [`reduce::max`](crate::reduce::max).
    ///
    /// # Errors
    /// Those of [`Group::sum`].
    pub fn max<T: Element>(&self, values: &Sharded<T>) -> Result<T> {
        self.reduce::<Max, T>(values, "max")
    }

    /// Smallest element; the type's highest value if there are none. See [`reduce::min`](crate::reduce::min).
    ///
    /// # Errors
    /// Those of [`Group::sum`].
    pub fn min<T: Element>(&self, values: &Sharded<T>) -> Result<T> {
        self.reduce::<Min, T>(values, "min")
    }

    fn reduce<O: Op<T>, T: Element>(&self, values: &Sharded<T>, name: &str) -> Result<T> {
        self.require(values.group, "the memory")?;
        let what = || format!("{name} of {} {}", values.len(), T::DTYPE);
        self.agreed(what, || Ok(self.of_each_rank::<O, T>(values)?.into_iter().fold(O::identity(), O::combine)))
    }

    /// The result of each rank.
    pub(super) fn of_each_rank<O: Op<T>, T: Element>(&self, values: &Sharded<T>) -> Result<Vec<T>> {
        let parts = values.views()?;
        let lens: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        let make = || self.plans(&lens, 1, |device, len| Plan::<O, T>::new(device, len, Tuning::default()));
        self.kept.with(lens.clone(), make, |plans| {
            for ((plan, result), part) in plans.iter_mut().zip(parts) {
                plan.launch(part, ViewMut::from(result))?;
            }
            self.values_of_ranks(plans.iter().map(|(_, result)| result))
        })
    }
}
