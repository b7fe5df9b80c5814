// cub::DeviceReduce, DeviceSegmentedReduce, and reductions by key.
#include "data.h"
#include <algorithm>
#include <cub/cub.cuh>
#include <numeric>

int main() {
    for (int n : SIZES) {
        Numbers numbers(n);
        std::vector<int> values = numbers.ints(n, 1000000);
        Memory<int> in(values), out(1);
        twice([&](void* t, size_t& b) { return cub::DeviceReduce::Sum(t, b, in.at, out.at, n); });
        CHECK(out.first() == std::accumulate(values.begin(), values.end(), 0));
        twice([&](void* t, size_t& b) { return cub::DeviceReduce::Max(t, b, in.at, out.at, n); });
        CHECK(out.first() == *std::max_element(values.begin(), values.end()));
        Memory<cub::KeyValuePair<int, int>> where(1);
        twice([&](void* t, size_t& b) { return cub::DeviceReduce::ArgMax(t, b, in.at, where.at, n); });
        auto found = where.first();
        auto largest = std::max_element(values.begin(), values.end());
        CHECK(found.value == *largest && found.key == largest - values.begin());
        // Floating point, of values whose sum is exact.
        std::vector<float> floats(n);
        for (int i = 0; i < n; ++i) floats[i] = float(i % 8);
        Memory<float> some(floats), sum(1);
        twice([&](void* t, size_t& b) { return cub::DeviceReduce::Sum(t, b, some.at, sum.at, n); });
        CHECK(sum.first() == std::accumulate(floats.begin(), floats.end(), 0.0f));
        // Segments of different lengths, some empty.
        std::vector<int> offsets = {0};
        while (offsets.back() < n) offsets.push_back(std::min(n, offsets.back() + int(numbers.next() % 700)));
        int segments = int(offsets.size()) - 1;
        Memory<int> at(offsets), sums(segments);
        twice([&](void* t, size_t& b) { return cub::DeviceSegmentedReduce::Sum(t, b, in.at, sums.at, segments, at.at, at.at + 1); });
        std::vector<int> got = sums.host();
        bool right = true;
        for (int i = 0; i < segments; ++i)
            right &= got[i] == std::accumulate(values.begin() + offsets[i], values.begin() + offsets[i + 1], 0);
        CHECK(right);
        // Runs of equal keys.
        std::vector<int> keys(n);
        for (int i = 1; i < n; ++i) keys[i] = keys[i - 1] + (numbers.next() % 5 == 0);
        Memory<int> key(keys), unique(n), per_key(n), runs(1);
        twice([&](void* t, size_t& b) {
            return cub::DeviceReduce::ReduceByKey(t, b, key.at, unique.at, in.at, per_key.at, runs.at, ::cuda::std::plus<>{}, n);
        });
        std::vector<int> expected(keys.back() + 1);
        for (int i = 0; i < n; ++i) expected[keys[i]] += values[i];
        CHECK(runs.first() == int(expected.size()) && per_key.host(expected.size()) == expected);
    }
    return finish();
}
