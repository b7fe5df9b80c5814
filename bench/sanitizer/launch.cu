// Launches one program of crates/ptx_sim/tests/{pass,fail} on a GPU with the shape and arguments of its `//@ launch` line. See table.py.
//
//     nvcc -O1 -std=c++17 -arch=native bench/sanitizer/launch.cu -lcuda -o target/launch && target/launch PROGRAM.ptx
//
// Exit code: 0 if the launch completed, 1 if the driver reported an error, 2 if the program has no launch line.
#include <cuda.h>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

static int check(CUresult result, const char* what) {
    if (result == CUDA_SUCCESS) return 0;
    const char* text = "?";
    cuGetErrorString(result, &text);
    printf("%s: %s\n", what, text);
    exit(1);
}

static std::array<unsigned, 3> triple(const std::string& text) {
    std::array<unsigned, 3> axes{1, 1, 1};
    sscanf(text.c_str(), "%ux%ux%u", &axes[0], &axes[1], &axes[2]);
    return axes;
}

int main(int argc, char** argv) {
    std::ifstream file(argc > 1 ? argv[1] : "");
    std::stringstream whole;
    whole << file.rdbuf();
    std::string text = whole.str(), line, word, entry;
    std::stringstream lines(text);
    while (std::getline(lines, line) && line.rfind("//@ launch ", 0) != 0) {
    }
    if (line.rfind("//@ launch ", 0) != 0) return 2;
    std::stringstream words(line.substr(11));
    words >> entry;

    check(cuInit(0), "cuInit");
    CUdevice device;
    CUcontext context;
    check(cuDeviceGet(&device, 0), "cuDeviceGet");
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    check(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 8192), "cuCtxSetLimit");

    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    std::vector<CUlaunchAttribute> attributes;
    std::vector<uint64_t> values;
    std::vector<CUdeviceptr> buffers;
    while (words >> word) {
        std::string key = word.substr(0, word.find('=')), value = word.substr(word.find('=') + 1);
        if (key == "grid") {
            auto axes = triple(value);
            config.gridDimX = axes[0], config.gridDimY = axes[1], config.gridDimZ = axes[2];
        } else if (key == "block") {
            auto axes = triple(value);
            config.blockDimX = axes[0], config.blockDimY = axes[1], config.blockDimZ = axes[2];
        } else if (key == "shared") {
            config.sharedMemBytes = atoi(value.c_str());
        } else if (key == "cluster") {
            auto axes = triple(value);
            CUlaunchAttribute attribute{};
            attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
            attribute.value.clusterDim.x = axes[0], attribute.value.clusterDim.y = axes[1], attribute.value.clusterDim.z = axes[2];
            attributes.push_back(attribute);
        } else if (key == "cooperative") {
            CUlaunchAttribute attribute{};
            attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
            attribute.value.cooperative = 1;
            attributes.push_back(attribute);
        } else if (key == "args") {
            std::stringstream arguments(value);
            while (std::getline(arguments, word, ',')) {
                char fill[16] = "";
                unsigned number = 0;
                if (sscanf(word.c_str(), "buf:u32:%u=%15s", &number, fill) >= 1) {
                    CUdeviceptr buffer;
                    check(cuMemAlloc(&buffer, number ? 4ull * number : 1), "cuMemAlloc");
                    std::string how = fill;
                    std::vector<uint32_t> contents(number);
                    for (unsigned i = 0; i < number; i++) contents[i] = how == "iota" ? i : 0;
                    // Without `=` a buffer stays uninitialised, which initcheck can then find.
                    if (!how.empty() && number) check(cuMemcpyHtoD(buffer, contents.data(), 4ull * number), "cuMemcpyHtoD");
                    values.push_back(buffer);
                    buffers.push_back(buffer);
                } else {
                    values.push_back(strtoul(word.substr(word.find(':') + 1).c_str(), nullptr, 0));
                }
            }
        }
    }
    config.attrs = attributes.data();
    config.numAttrs = attributes.size();

    CUmodule module;
    CUfunction function;
    check(cuModuleLoadData(&module, text.c_str()), "cuModuleLoadData");
    check(cuModuleGetFunction(&function, module, entry.c_str()), "cuModuleGetFunction");
    std::vector<void*> parameters;
    for (auto& value : values) parameters.push_back(&value);
    check(cuLaunchKernelEx(&config, function, parameters.data(), nullptr), "cuLaunchKernelEx");
    check(cuCtxSynchronize(), "cuCtxSynchronize");
    // What is left then, the kernel has leaked.
    for (auto buffer : buffers) check(cuMemFree(buffer), "cuMemFree");
    check(cuModuleUnload(module), "cuModuleUnload");
    check(cuDevicePrimaryCtxRelease(device), "cuDevicePrimaryCtxRelease");
    printf("done\n");
    return 0;
}
