// Inputs of the programs that use CUB and Thrust, and device memory that frees itself.
#pragma once
#include "check.h"
#include <cstdint>
#include <vector>

// Sizes around those of warps, blocks and tiles, and many tiles.
static const int SIZES[] = {1, 2, 31, 33, 255, 1024, 4097, 20000, 200000};

// Numbers that no library makes: a linear congruential generator.
struct Numbers {
    uint64_t state;
    explicit Numbers(uint64_t seed) : state(seed * 2862933555777941757ull + 3037000493ull) {}
    uint32_t next() { return uint32_t((state = state * 6364136223846793005ull + 1442695040888963407ull) >> 33); }
    std::vector<int> ints(int n, int below) {
        std::vector<int> values(n);
        for (int& value : values) value = int(next() % uint32_t(below)) - below / 2;
        return values;
    }
};

template <typename T> struct Memory {
    T* at = nullptr;
    size_t n;
    explicit Memory(size_t count) : n(count) { OK(cudaMalloc(&at, (count ? count : 1) * sizeof(T))); }
    explicit Memory(const std::vector<T>& values) : Memory(values.size()) {
        OK(cudaMemcpy(at, values.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    }
    Memory(const Memory&) = delete;
    ~Memory() { OK(cudaFree(at)); }
    std::vector<T> host(size_t count) const {
        std::vector<T> values(count);
        OK(cudaMemcpy(values.data(), at, count * sizeof(T), cudaMemcpyDeviceToHost));
        return values;
    }
    std::vector<T> host() const { return host(n); }
    T first() const { return host(1)[0]; }
};

// Calls an algorithm of CUB twice: for the size of its temporary storage, and with exactly that.
template <typename F> void twice(F algorithm) {
    size_t bytes = 0;
    OK(algorithm(nullptr, bytes));
    Memory<char> storage(bytes);
    OK(algorithm(storage.at, bytes));
    OK(cudaGetLastError());
}
