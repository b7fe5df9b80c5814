// cub::DeviceRadixSort and DeviceMergeSort: keys, and pairs, which keep the order of equal keys.
#include "data.h"
#include <algorithm>
#include <cub/cub.cuh>
#include <numeric>

struct Less { __device__ bool operator()(int a, int b) const { return a < b; } };

int main() {
    for (int n : SIZES) {
        Numbers numbers(n);
        std::vector<int> keys = numbers.ints(n, 100000), order(n), sorted = keys;
        std::sort(sorted.begin(), sorted.end());
        std::iota(order.begin(), order.end(), 0);
        Memory<int> in(keys), out(n), from(order), to(n);
        twice([&](void* t, size_t& b) { return cub::DeviceRadixSort::SortKeys(t, b, in.at, out.at, n); });
        CHECK(out.host() == sorted);
        twice([&](void* t, size_t& b) { return cub::DeviceRadixSort::SortPairs(t, b, in.at, out.at, from.at, to.at, n); });
        std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
        CHECK(out.host() == sorted && to.host() == order);
        std::vector<float> floats(n), falling;
        for (int i = 0; i < n; ++i) floats[i] = keys[i] * 0.25f;
        falling = floats;
        std::sort(falling.rbegin(), falling.rend());
        Memory<float> some(floats), down(n);
        twice([&](void* t, size_t& b) { return cub::DeviceRadixSort::SortKeysDescending(t, b, some.at, down.at, n); });
        CHECK(down.host() == falling);
        Memory<int> place(keys);
        twice([&](void* t, size_t& b) { return cub::DeviceMergeSort::SortKeys(t, b, place.at, n, Less()); });
        CHECK(place.host() == sorted);
    }
    return finish();
}
