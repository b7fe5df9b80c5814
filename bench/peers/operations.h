// Maximum and minimum for CUB of any version, and their identities.
#pragma once
#include <cub/cub.cuh>
#include <limits>

#if CUB_MAJOR_VERSION >= 3
#include <cuda/functional>
using Max = ::cuda::maximum<>;
using Min = ::cuda::minimum<>;
#else
using Max = cub::Max;
using Min = cub::Min;
#endif

// The initial value of `host` for an exclusive maximum (`largest` false) or minimum.
template <typename T>
T identity(bool largest) {
    using Limits = std::numeric_limits<T>;
    if (Limits::has_infinity) return largest ? Limits::infinity() : -Limits::infinity();
    return largest ? Limits::max() : Limits::lowest();
}
