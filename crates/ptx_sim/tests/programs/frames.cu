// Local arrays, which are parts of one variable in PTX. Compiled with debug information, -G.
#include <cstdio>

// Stores past either end of `first` and `second`, depending on the index.
extern "C" __global__ void two_arrays(int* out, int at_first, int at_second) {
    int first[4];
    int second[4];
    for (int i = 0; i < 4; i++) {
        first[i] = i;
        second[i] = 10 * i;
    }
    first[at_first] = 100;
    second[at_second] = 200;
    int sum = 0;
    for (int i = 0; i < 4; i++) sum += first[i] + second[i];
    out[threadIdx.x] = sum;
}

struct Inside {
    int key;
    int values[3];
};

// The array is in a frame of its own.
__device__ __noinline__ int own_frame(int seed, int last) {
    int tmp[3];
    Inside other;
    other.key = seed;
    for (int i = 0; i <= last; i++) tmp[i] = seed + i;
    for (int i = 0; i < 3; i++) other.values[i] = tmp[i];
    return other.values[0] + other.values[2] + other.key;
}

extern "C" __global__ void calls(int* out, int last) {
    int before[2] = {1, 2};
    out[threadIdx.x] = own_frame(before[threadIdx.x & 1], last);
}

// The arrays are in the caller's frame.
__device__ __noinline__ void fill(int* to, int count) {
    for (int i = 0; i < count; i++) to[i] = i + 1;
}

extern "C" __global__ void passes_pointers(int* out, int count) {
    int small[5];
    int large[64];
    fill(large, 64);
    fill(small, count);
    out[threadIdx.x] = small[4] + large[63];
}

__device__ __noinline__ int depth(int n) {
    int own[2] = {n, n + 1};
    if (n == 0) return own[1];
    return depth(n - 1) + own[n & 1];
}

extern "C" __global__ void recursive(int* out, int n) { out[threadIdx.x] = depth(n); }

struct Pair {
    double x;
    int n;
};

struct alignas(16) Wide {
    float x, y, z;
};

struct Base {
    int unit;
    __device__ virtual int value(int i) { return i + unit; }
};

struct Derived : Base {
    int table[3];
    __device__ int value(int i) override { return table[i]; }
};

__device__ __noinline__ Pair make(int n) {
    Pair pair;
    pair.x = n;
    pair.n = n + 1;
    return pair;
}

__device__ __noinline__ int by_value(Inside inside, int i) { return inside.values[i] + inside.key; }

__device__ __noinline__ void add_one(int* value) { *value += 1; }

__device__ __forceinline__ int inlined(const int* values) {
    int swapped[2];
    swapped[0] = values[1];
    swapped[1] = values[0];
    return swapped[values[0] & 1];
}

template <class F>
__device__ __noinline__ int twice(F f) {
    return f(0) + f(1);
}

// All that compilers do with frames, without a mistake.
extern "C" __global__ void everything(int* out, int n, Inside given) {
    int scalar = n;
    add_one(&scalar);
    int& reference = scalar;
    reference++;
    Inside one;
    one.key = n;
    for (int i = 0; i < 3; i++) one.values[i] = i;
    Inside copy = one;
    Inside* pointer = &copy;
    Inside again = *pointer;
    auto [x, count] = make(n);
    auto [key, values] = again;
    auto& [bound_key, bound_values] = copy;
    union {
        int bits;
        float number;
    };
    number = 1.0f;
    add_one(&bits);
    Wide wide[2];
    wide[0] = {1, 2, 3};
    wide[1] = wide[0];
    Derived derived;
    derived.unit = 1;
    for (int i = 0; i < 3; i++) derived.table[i] = i * i;
    Base* base = &derived;
    int** indirect;
    int* middle = &scalar;
    indirect = &middle;
    **indirect += 5;
    auto closure = [=, &scalar](int q) {
        scalar += q;
        return scalar + n + one.values[q];
    };
    int sum = twice(closure);
    for (int value : one.values) sum += value;
    char name[10];
    for (int i = 0; i < 10; i++) name[i] = 'a' + i;
    short shorts[3] = {1, 2, 3};
    short* end = shorts + 3;
    for (short* at = shorts; at != end; at++) sum += *at;
    for (short* at = end; at-- != shorts;) sum += *at;
    volatile int fixed = n;
    float grid[2][3];
    for (int i = 0; i < 6; i++) grid[i / 3][i % 3] = i;
    {
        int scope[4] = {1, 2, 3, 4};
        sum += scope[n & 3];
    }
    {
        long long scope[4] = {5, 6, 7, 8};
        sum += scope[n & 3];
    }
    bool flag = n > 3;
    bool* at_flag = &flag;
    if (threadIdx.x == 0) printf("%d %f %s\n", sum, x, *at_flag ? "more" : "less");
    out[threadIdx.x] = (int)x + count + key + values[n % 3] + bound_key + bound_values[1] + (bits & 0xff) + (int)wide[n & 1].z +
                       base->value(n % 3) + scalar + sum + name[n % 10] + fixed + (int)grid[n & 1][n % 3] + inlined(values) +
                       by_value(again, n % 3) + by_value(given, 2);
}
