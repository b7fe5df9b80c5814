//! Entries of the PTX, with the parameters that their launchers pass.

use cuda_std::launch::{Call, Ptr, PtrMut, Slice, SliceMut};
use cuda_std::memory::TensorMap;
use serde::{Serialize, Serializer};

/// An `.entry` in the PTX, with the parameters that its launcher passes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Name after `.entry`.
    pub name: String,
    /// Size in bytes of each parameter, in order.
    pub params: Vec<u64>,
}

impl Entry {
    /// The entry that a kernel's launcher calls.
    pub(crate) fn of<Arguments>(launcher: impl Launcher<Arguments>) -> Self {
        launcher.call().into()
    }
}

impl From<Call<'_>> for Entry {
    fn from(call: Call<'_>) -> Self {
        Self { name: call.entry.into_owned(), params: call.params.iter().map(|param| param.len() as u64).collect() }
    }
}

impl Serialize for Entry {
    /// Writes the name alone.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name)
    }
}

/// The launcher that `#[kernel]` defines on the host: a function of this tuple of arguments.
pub(crate) trait Launcher<Arguments> {
    /// The call without data, from which only the entry's name and the sizes of its parameters are read.
    fn call(self) -> Call<'static>;
}

/// An argument without data.
pub(crate) trait Nothing {
    /// Zero, or an empty slice.
    fn nothing() -> Self;
}

impl<T> Nothing for Slice<'static, T> {
    fn nothing() -> Self {
        // SAFETY: the slice is empty, and the call is not launched.
        unsafe { Self::new(0, 0) }
    }
}

impl<T> Nothing for SliceMut<'static, T> {
    fn nothing() -> Self {
        // SAFETY: the slice is empty, and the call is not launched.
        unsafe { Self::new(0, 0) }
    }
}

impl<T> Nothing for Ptr<'static, T> {
    fn nothing() -> Self {
        // SAFETY: the call is not launched.
        unsafe { Self::new(0) }
    }
}

impl<T> Nothing for TensorMap<T> {
    fn nothing() -> Self {
        Self::new([0; 16])
    }
}

impl<T> Nothing for PtrMut<'static, T> {
    fn nothing() -> Self {
        // SAFETY: the call is not launched.
        unsafe { Self::new(0) }
    }
}

impl<T: Nothing + Copy, const N: usize> Nothing for [T; N] {
    fn nothing() -> Self {
        [T::nothing(); N]
    }
}

macro_rules! numbers {
    ($($t:ty)*) => { $( impl Nothing for $t { fn nothing() -> Self { 0 as $t } } )* };
}
numbers!(u32 u64 usize f32 f64);

macro_rules! launchers {
    ($($arguments:ident)*) => {
        impl<F: Fn($($arguments),*) -> Call<'static>, $($arguments: Nothing),*> Launcher<($($arguments,)*)> for F {
            fn call(self) -> Call<'static> {
                self($($arguments::nothing()),*)
            }
        }
    };
}
launchers!(A B);
launchers!(A B C);
launchers!(A B C D);
launchers!(A B C D E);
launchers!(A B C D E G);
launchers!(A B C D E G H);
launchers!(A B C D E G H I);
launchers!(A B C D E G H I J);
launchers!(A B C D E G H I J K);
launchers!(A B C D E G H I J K L M N);
launchers!(A B C D E G H I J K L M N O);
launchers!(A B C D E G H I J K L M N O P Q);
launchers!(A B C D E G H I J K L M N O P Q R S T);
launchers!(A B C D E G H I J K L M N O P Q R S T U);
launchers!(A B C D E G H I J K L M N O P Q R S T U V);
launchers!(A B C D E G H I J K L M N O P Q R S T U V W);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_names_its_entry() {
        let entry = Entry::of(kernels_gpu::vecadd::vectorised::vecadd_vectorised::<f32>);
        assert_eq!(entry, Entry { name: "vecadd_vectorised_f32".to_owned(), params: vec![8; 5] });
    }
}
