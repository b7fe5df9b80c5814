// What every program has: `CHECK` counts a condition that must hold, `OK` one call of the API that must succeed.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

static int checks, failures;

static inline void check(bool holds, const char* what, const char* file, int line) {
    ++checks;
    if (!holds) {
        ++failures;
        fprintf(stderr, "%s:%d: fails: %s\n", file, line, what);
    }
}

#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)
#define OK(call) is(cudaSuccess, (call), #call, __FILE__, __LINE__)
#define IS(code, call) is((code), (call), #call, __FILE__, __LINE__)

static inline void is(cudaError_t expected, cudaError_t result, const char* what, const char* file, int line) {
    check(result == expected, what, file, line);
    if (result != expected)
        fprintf(stderr, "    %s instead of %s\n", cudaGetErrorName(result), cudaGetErrorName(expected));
}

static inline int finish() {
    printf("%d checks, %d failures\n", checks, failures);
    return failures != 0;
}
