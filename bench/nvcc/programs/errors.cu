// Errors: which call returns them, which one resets them, and which ones remain.
#include "check.h"
#include <cstring>

__global__ void nothing() {}
__global__ void traps() { __trap(); }  // finds: trap

int main() {
    CHECK(cudaGetLastError() == cudaSuccess);
    nothing<<<1, 2048>>>();
    CHECK(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
    CHECK(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    CHECK(cudaGetLastError() == cudaSuccess);
    nothing<<<0, 32>>>();
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    nothing<<<1, dim3(1, 1, 65)>>>();
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    nothing<<<dim3(1, 65536), 1>>>();
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    nothing<<<1, 32, 1 << 20>>>();
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    // A call that succeeds leaves the error of an earlier one.
    void* memory = nullptr;
    IS(cudaErrorInvalidValue, cudaMalloc(nullptr, 16));
    OK(cudaMalloc(&memory, 16));
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    IS(cudaErrorMemoryAllocation, cudaMalloc(&memory, size_t(1) << 60));
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
    IS(cudaErrorInvalidDevice, cudaSetDevice(99));
    CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
    IS(cudaErrorInvalidResourceHandle, cudaEventRecord((cudaEvent_t)nullptr));
    cudaGetLastError();
    IS(cudaErrorInvalidMemcpyDirection, cudaMemcpy(memory, memory, 4, (cudaMemcpyKind)17));
    CHECK(cudaGetLastError() == cudaErrorInvalidMemcpyDirection);
    IS(cudaErrorInvalidValue, cudaMemset((void*)64, 0, 16));
    cudaGetLastError();
    // Work that is not ready is no error that stays.
    CHECK(!strcmp(cudaGetErrorName(cudaErrorNotReady), "cudaErrorNotReady"));
    CHECK(strlen(cudaGetErrorString(cudaErrorInvalidValue)) > 5);
    CHECK(!strcmp(cudaGetErrorString(cudaSuccess), "no error"));
    CHECK(!strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument"));
    CHECK(!strcmp(cudaGetErrorString(cudaErrorInvalidConfiguration), "invalid configuration argument"));
    CHECK(!strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"));
    CHECK(!strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code"));
    int version = 0, count = 0, device = -1;
    OK(cudaRuntimeGetVersion(&version));
    CHECK(version / 1000 == CUDART_VERSION / 1000);
    OK(cudaDriverGetVersion(&version));
    CHECK(version >= CUDART_VERSION);
    OK(cudaGetDeviceCount(&count));
    CHECK(count == 1);
    OK(cudaGetDevice(&device));
    CHECK(device == 0);
    OK(cudaDeviceReset());
    OK(cudaMalloc(&memory, 16));
    nothing<<<1, 1>>>();
    OK(cudaDeviceSynchronize());
    // A fault remains until the device is reset.
    traps<<<1, 1>>>();
    OK(cudaGetLastError());
    IS(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    IS(cudaErrorLaunchFailure, cudaGetLastError());
    void* other;
    IS(cudaErrorLaunchFailure, cudaMalloc(&other, 16));
    nothing<<<1, 1>>>();
    IS(cudaErrorLaunchFailure, cudaGetLastError());
    IS(cudaErrorLaunchFailure, cudaFree(memory));
    cudaGetLastError();
    return finish();
}
