// cub::DeviceSelect, DevicePartition and DeviceHistogram.
#include "data.h"
#include <algorithm>
#include <cub/cub.cuh>

struct Positive { __host__ __device__ bool operator()(int value) const { return value > 0; } };

int main() {
    for (int n : SIZES) {
        Numbers numbers(n);
        std::vector<int> values = numbers.ints(n, 1000), expected;
        std::vector<char> flags(n);
        for (char& flag : flags) flag = numbers.next() % 3 == 0;
        Memory<int> in(values), out(n), count(1);
        Memory<char> flag(flags);
        twice([&](void* t, size_t& b) { return cub::DeviceSelect::Flagged(t, b, in.at, flag.at, out.at, count.at, n); });
        for (int i = 0; i < n; ++i) if (flags[i]) expected.push_back(values[i]);
        CHECK(count.first() == int(expected.size()) && out.host(expected.size()) == expected);
        twice([&](void* t, size_t& b) { return cub::DeviceSelect::If(t, b, in.at, out.at, count.at, n, Positive()); });
        expected.clear();
        std::copy_if(values.begin(), values.end(), std::back_inserter(expected), Positive());
        CHECK(count.first() == int(expected.size()) && out.host(expected.size()) == expected);
        twice([&](void* t, size_t& b) { return cub::DevicePartition::If(t, b, in.at, out.at, count.at, n, Positive()); });
        std::vector<int> rest;
        for (int value : values) if (!Positive()(value)) rest.push_back(value);
        std::reverse(rest.begin(), rest.end());
        expected.insert(expected.end(), rest.begin(), rest.end());
        CHECK(count.first() == n - int(rest.size()) && out.host() == expected);
        std::vector<int> repeated(n);
        for (int i = 1; i < n; ++i) repeated[i] = repeated[i - 1] + (numbers.next() % 4 == 0);
        Memory<int> again(repeated);
        twice([&](void* t, size_t& b) { return cub::DeviceSelect::Unique(t, b, again.at, out.at, count.at, n); });
        repeated.erase(std::unique(repeated.begin(), repeated.end()), repeated.end());
        CHECK(count.first() == int(repeated.size()) && out.host(repeated.size()) == repeated);

        const int bins = 40;
        Memory<int> even(bins), ranges(4);
        twice([&](void* t, size_t& b) { return cub::DeviceHistogram::HistogramEven(t, b, in.at, even.at, bins + 1, -500, 500, n); });
        std::vector<int> counts(bins), between(4), levels = {-400, -10, 0, 3, 450};
        for (int value : values) ++counts[(value + 500) / 25];
        CHECK(even.host() == counts);
        Memory<int> level(levels);
        twice([&](void* t, size_t& b) { return cub::DeviceHistogram::HistogramRange(t, b, in.at, ranges.at, 5, level.at, n); });
        for (int value : values)
            for (int i = 0; i < 4; ++i) between[i] += value >= levels[i] && value < levels[i + 1];
        CHECK(ranges.host() == between);
    }
    return finish();
}
