// cub::DeviceScan and DeviceRunLengthEncode, whose blocks look back at their predecessors.
#include "data.h"
#include <cub/cub.cuh>

int main() {
    for (int n : SIZES) {
        Numbers numbers(n);
        std::vector<int> values = numbers.ints(n, 1000), expected(n);
        Memory<int> in(values), out(n);
        twice([&](void* t, size_t& b) { return cub::DeviceScan::ExclusiveSum(t, b, in.at, out.at, n); });
        for (int i = 0, sum = 0; i < n; sum += values[i++]) expected[i] = sum;
        CHECK(out.host() == expected);
        twice([&](void* t, size_t& b) { return cub::DeviceScan::InclusiveSum(t, b, in.at, out.at, n); });
        for (int i = 0, sum = 0; i < n; ++i) expected[i] = sum += values[i];
        CHECK(out.host() == expected);
        std::vector<long long> wide(n), sums(n);
        for (int i = 0; i < n; ++i) wide[i] = (long long)values[i] << 33;
        for (long long i = 0, sum = 0; i < n; ++i) sums[i] = sum += wide[i];
        Memory<long long> far(wide), far_out(n);
        twice([&](void* t, size_t& b) { return cub::DeviceScan::InclusiveSum(t, b, far.at, far_out.at, n); });
        CHECK(far_out.host() == sums);
        std::vector<int> symbols(n);
        for (int i = 1; i < n; ++i) symbols[i] = symbols[i - 1] ^ (numbers.next() % 3 == 0);
        Memory<int> sequence(symbols), unique(n), lengths(n), runs(1);
        twice([&](void* t, size_t& b) { return cub::DeviceRunLengthEncode::Encode(t, b, sequence.at, unique.at, lengths.at, runs.at, n); });
        std::vector<int> letters, counts;
        for (int i = 0; i < n; ++i) {
            if (i == 0 || symbols[i] != symbols[i - 1]) letters.push_back(symbols[i]), counts.push_back(0);
            ++counts.back();
        }
        CHECK(runs.first() == int(counts.size()) && lengths.host(counts.size()) == counts && unique.host(counts.size()) == letters);
    }
    return finish();
}
