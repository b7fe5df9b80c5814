// Copies in one to three dimensions, arrays, and memory of the host: pinned, mapped, registered, managed.
#include "check.h"
#include <cstring>
#include <vector>

__global__ void increment(int* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i]++;
}

__global__ void rows(int* data, size_t pitch, int width, int height) {
    int x = threadIdx.x, y = blockIdx.x;
    if (x < width && y < height) ((int*)((char*)data + y * pitch))[x] = 100 * y + x;
}

int main() {
    // Rows.
    const int width = 13, height = 7, depth = 5;
    int* plane;
    size_t pitch;
    OK(cudaMallocPitch(&plane, &pitch, width * sizeof(int), height));
    CHECK(pitch >= width * sizeof(int) && pitch % 32 == 0);
    OK(cudaMemset2D(plane, pitch, 0, width * sizeof(int), height));
    rows<<<height, 32>>>(plane, pitch, width, height);
    std::vector<int> host(width * height, -1);
    OK(cudaMemcpy2D(host.data(), width * sizeof(int), plane, pitch, width * sizeof(int), height, cudaMemcpyDeviceToHost));
    CHECK(host[0] == 0 && host[width * 6 + 12] == 612);
    std::vector<int> part(4, -1);
    OK(cudaMemcpy2D(part.data(), 2 * sizeof(int), (char*)plane + 3 * pitch + 8, pitch, 2 * sizeof(int), 2, cudaMemcpyDefault));
    CHECK(part[0] == 302 && part[1] == 303 && part[2] == 402 && part[3] == 403);
    IS(cudaErrorInvalidPitchValue, cudaMemcpy2D(part.data(), 4, plane, pitch, 8, 2, cudaMemcpyDefault));
    CHECK(cudaGetLastError() == cudaErrorInvalidPitchValue);
    OK(cudaFree(plane));

    // Planes.
    cudaExtent extent = make_cudaExtent(width * sizeof(int), height, depth);
    cudaPitchedPtr solid;
    OK(cudaMalloc3D(&solid, extent));
    CHECK(solid.xsize == width * sizeof(int) && solid.ysize == height && solid.pitch >= solid.xsize);
    OK(cudaMemset3D(solid, 0xff, extent));
    std::vector<int> box(width * height * depth);
    for (size_t i = 0; i < box.size(); ++i) box[i] = int(i);
    cudaMemcpy3DParms there = {};
    there.srcPtr = make_cudaPitchedPtr(box.data(), width * sizeof(int), width, height);
    there.dstPtr = solid;
    there.extent = extent;
    there.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&there));
    std::vector<int> inner(2 * 3 * 4, -1);
    cudaMemcpy3DParms back = {};
    back.srcPtr = solid;
    back.srcPos = make_cudaPos(sizeof(int), 2, 1);
    back.dstPtr = make_cudaPitchedPtr(inner.data(), 2 * sizeof(int), 2, 3);
    back.extent = make_cudaExtent(2 * sizeof(int), 3, 4);
    back.kind = cudaMemcpyDefault;
    OK(cudaMemcpy3DAsync(&back, 0));
    OK(cudaStreamSynchronize(0));
    CHECK(inner[0] == 1 * width * height + 2 * width + 1);
    CHECK(inner[23] == 4 * width * height + 4 * width + 2);
    OK(cudaFree(solid.ptr));

    // Arrays.
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float2>();
    cudaArray_t array, other;
    OK(cudaMallocArray(&array, &format, 8, 4));
    OK(cudaMallocArray(&other, &format, 8, 4));
    std::vector<float2> pixels(32), read(32);
    for (int i = 0; i < 32; ++i) pixels[i] = make_float2(i, -i);
    OK(cudaMemcpy2DToArray(array, 0, 0, pixels.data(), 8 * sizeof(float2), 8 * sizeof(float2), 4, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DArrayToArray(other, 0, 0, array, 0, 0, 8 * sizeof(float2), 4));
    OK(cudaMemcpy2DFromArray(read.data(), 8 * sizeof(float2), other, 0, 0, 8 * sizeof(float2), 4, cudaMemcpyDeviceToHost));
    CHECK(read[9].x == 9 && read[31].y == -31);
    cudaChannelFormatDesc known;
    cudaExtent size;
    unsigned flags;
    OK(cudaArrayGetInfo(&known, &size, &flags, other));
    CHECK(known.x == 32 && known.y == 32 && known.z == 0 && known.f == cudaChannelFormatKindFloat);
    CHECK(size.width == 8 && size.height == 4 && size.depth == 0 && flags == 0);
    OK(cudaFreeArray(array));
    OK(cudaFreeArray(other));

    // Memory of the host.
    const int n = 1000;
    int *pinned, *mapped, *seen, *managed, *device;
    OK(cudaMallocHost(&pinned, n * sizeof(int)));
    OK(cudaHostAlloc(&mapped, n * sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable));
    OK(cudaHostGetFlags(&flags, mapped));
    CHECK((flags & cudaHostAllocMapped) != 0);
    OK(cudaHostGetDevicePointer(&seen, mapped, 0));
    OK(cudaMallocManaged(&managed, n * sizeof(int)));
    OK(cudaMalloc(&device, n * sizeof(int)));
    std::vector<int> own(n, 5);
    OK(cudaHostRegister(own.data(), n * sizeof(int), cudaHostRegisterDefault));
    for (int i = 0; i < n; ++i) pinned[i] = mapped[i] = managed[i] = i;
    increment<<<4, 256>>>(seen, n);
    increment<<<4, 256>>>(managed, n);
    increment<<<4, 256>>>(own.data(), n);
    OK(cudaMemcpyAsync(device, pinned, n * sizeof(int), cudaMemcpyDefault));
    increment<<<4, 256>>>(device, n);
    OK(cudaMemcpyAsync(pinned, device, n * sizeof(int), cudaMemcpyDefault));
    OK(cudaDeviceSynchronize());
    CHECK(mapped[n - 1] == n && managed[n - 1] == n && own[n - 1] == 6 && pinned[n - 1] == n);
    cudaPointerAttributes about;
    OK(cudaPointerGetAttributes(&about, device + 5));
    CHECK(about.type == cudaMemoryTypeDevice && about.device == 0 && about.devicePointer == device + 5 && !about.hostPointer);
    OK(cudaPointerGetAttributes(&about, pinned));
    CHECK(about.type == cudaMemoryTypeHost && about.hostPointer == pinned && about.devicePointer == pinned);
    OK(cudaPointerGetAttributes(&about, managed));
    CHECK(about.type == cudaMemoryTypeManaged && about.hostPointer == managed && about.devicePointer == managed);
    int local;
    OK(cudaPointerGetAttributes(&about, &local));
    CHECK(about.type == cudaMemoryTypeUnregistered && about.device == -2 && about.hostPointer == &local && !about.devicePointer);
#if CUDART_VERSION >= 13000
    cudaMemLocation here = {cudaMemLocationTypeDevice, {0}};
    OK(cudaMemPrefetchAsync(managed, n * sizeof(int), here, 0, 0));
    OK(cudaMemAdvise(managed, n * sizeof(int), cudaMemAdviseSetReadMostly, here));
#else
    OK(cudaMemPrefetchAsync(managed, n * sizeof(int), 0, 0));
    OK(cudaMemAdvise(managed, n * sizeof(int), cudaMemAdviseSetReadMostly, 0));
#endif
    OK(cudaHostUnregister(own.data()));
    OK(cudaFreeHost(pinned));
    OK(cudaFreeHost(mapped));
    OK(cudaFree(managed));
    OK(cudaFree(device));
    IS(cudaErrorInvalidValue, cudaFree(device));
    IS(cudaErrorInvalidValue, cudaGetLastError());
    OK(cudaFree(nullptr));
    OK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));
    size_t available, total;
    OK(cudaMemGetInfo(&available, &total));
    CHECK(available <= total && total > 0);
    return finish();
}
