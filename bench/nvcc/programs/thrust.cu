// Thrust on device vectors.
#include "data.h"
#include <algorithm>
#include <numeric>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

struct Square { __host__ __device__ long long operator()(int value) const { return (long long)value * value; } };
struct Even { __host__ __device__ bool operator()(int value) const { return value % 2 == 0; } };
struct Sum { __host__ __device__ long long operator()(long long a, long long b) const { return a + b; } };

static std::vector<int> back(const thrust::device_vector<int>& values) {
    std::vector<int> host(values.size());
    thrust::copy(values.begin(), values.end(), host.begin());
    return host;
}

int main() {
    for (int n : SIZES) {
        Numbers numbers(n);
        std::vector<int> values = numbers.ints(n, 10000), expected = values;
        thrust::device_vector<int> device(values.begin(), values.end());
        CHECK(thrust::reduce(device.begin(), device.end()) == std::accumulate(values.begin(), values.end(), 0));
        long long squares = 0;
        for (int value : values) squares += Square()(value);
        CHECK(thrust::transform_reduce(device.begin(), device.end(), Square(), 0LL, Sum()) == squares);
        thrust::device_vector<int> sums(n);
        thrust::inclusive_scan(device.begin(), device.end(), sums.begin());
        std::partial_sum(values.begin(), values.end(), expected.begin());
        CHECK(back(sums) == expected);
        thrust::device_vector<int> sorted = device, order(n);
        thrust::sort(sorted.begin(), sorted.end());
        expected = values;
        std::sort(expected.begin(), expected.end());
        CHECK(back(sorted) == expected);
        thrust::sequence(order.begin(), order.end());
        thrust::device_vector<int> keys = device;
        thrust::stable_sort_by_key(keys.begin(), keys.end(), order.begin());
        std::vector<int> places(n);
        std::iota(places.begin(), places.end(), 0);
        std::stable_sort(places.begin(), places.end(), [&](int a, int b) { return values[a] < values[b]; });
        CHECK(back(keys) == expected && back(order) == places);
        thrust::device_vector<int> unique(n), counts(n), ones(n, 1);
        auto ends = thrust::reduce_by_key(sorted.begin(), sorted.end(), ones.begin(), unique.begin(), counts.begin());
        int total = thrust::reduce(counts.begin(), ends.second);
        thrust::device_vector<int> distinct(n);
        distinct.resize(thrust::unique_copy(sorted.begin(), sorted.end(), distinct.begin()) - distinct.begin());
        expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
        CHECK(back(distinct) == expected && total == n && ends.first - unique.begin() == int(expected.size()));
        thrust::device_vector<int> even(n);
        even.resize(thrust::copy_if(device.begin(), device.end(), even.begin(), Even()) - even.begin());
        expected.clear();
        std::copy_if(values.begin(), values.end(), std::back_inserter(expected), Even());
        CHECK(back(even) == expected);
        CHECK(device[n - 1] == values[n - 1]);
    }
    return finish();
}
