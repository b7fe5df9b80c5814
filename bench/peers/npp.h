// NPP, the vendor's library for pictures, for the programs that measure it.
//
// Its libraries are opened at run time, so that a program can be compiled and started on a machine without them: it then
// explains on standard error why it measures nothing. LD_LIBRARY_PATH may name the folder of libnpp*.so.
#pragma once
#include "peer.h"

[[noreturn]] inline void skip(const char* why) {
    fprintf(stderr, "NPP is not measured: %s\n", why);
    exit(0);
}

#if __has_include(<npp.h>)
#define HAS_NPP 1
#include <dlfcn.h>
#include <npp.h>

// The function of this name and type in libnpp<library>.so, of the version whose headers were used.
template <typename Function>
Function npp_function(const char* library, const char* name) {
    std::string file = std::string("libnpp") + library + ".so." + std::to_string(NPP_VERSION_MAJOR);
    void* opened = dlopen(file.c_str(), RTLD_NOW);
    void* function = opened ? dlsym(opened, name) : nullptr;
    if (!function) skip(dlerror());
    return (Function)function;
}

// The header's declaration gives the type, so that a call is checked against it.
#define NPP(library, name) npp_function<decltype(&name)>(library, #name)

// A prefix, such as "NPP", and the version of the library.
inline std::string npp_name(const char* prefix) {
    const NppLibraryVersion* version = NPP("c", nppGetLibVersion)();
    return std::string(prefix) + " " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->build);
}

// The current GPU and its default stream.
inline NppStreamContext npp_context() {
    NppStreamContext context = {};
    cudaDeviceProp device;
    CHECK(cudaGetDevice(&context.nCudaDeviceId));
    CHECK(cudaGetDeviceProperties(&device, context.nCudaDeviceId));
    context.nMultiProcessorCount = device.multiProcessorCount;
    context.nMaxThreadsPerMultiProcessor = device.maxThreadsPerMultiProcessor;
    context.nMaxThreadsPerBlock = device.maxThreadsPerBlock;
    context.nSharedMemPerBlock = device.sharedMemPerBlock;
    context.nCudaDevAttrComputeCapabilityMajor = device.major;
    context.nCudaDevAttrComputeCapabilityMinor = device.minor;
    return context;
}

inline void check(NppStatus status) {
    if (status != NPP_SUCCESS) {
        fprintf(stderr, "NPP: status %d\n", (int)status);
        exit(1);
    }
}

// Measures a function of NPP, unless it refuses the operands.
template <typename T, typename Call>
void measure_npp(const Request& request, const char* prefix, size_t bytes, const T* result, std::vector<size_t> shape, Call call,
                 const Comparison& comparison = {}) {
    if (NppStatus status = call()) {
        fprintf(stderr, "%s refuses %s of %s: status %d\n", prefix, request.family.c_str(), request.dtype.c_str(), (int)status);
        return;
    }
    CHECK(cudaDeviceSynchronize());
    measure(request, npp_name(prefix).c_str(), bytes, result, shape, request.dtype.c_str(), [&] { check(call()); }, comparison);
}
#else
#define HAS_NPP 0
#endif
