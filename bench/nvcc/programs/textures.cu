// Texture and surface objects over arrays and over memory.
#include "check.h"
#include <cmath>
#include <vector>

__global__ void sample(cudaTextureObject_t texture, float* out, int width, int height) {
    int x = threadIdx.x, y = blockIdx.x;
    if (x < width) out[y * width + x] = tex2D<float>(texture, x + 0.5f, y + 0.5f);
}

__global__ void between(cudaTextureObject_t texture, float* out) { out[threadIdx.x] = tex2D<float>(texture, (threadIdx.x + 1) / 8.0f, 0.5f / 4); }

__global__ void fetch(cudaTextureObject_t texture, int* out, int n) {
    int i = threadIdx.x;
    if (i < n) {
        int2 pair = tex1Dfetch<int2>(texture, i);
        out[i] = pair.x * 10 + pair.y;
    }
}

__global__ void write(cudaSurfaceObject_t surface, int width) {
    int x = threadIdx.x, y = blockIdx.x;
    float value;
    surf2Dread(&value, surface, x * sizeof(float), y);
    surf2Dwrite(value + 100, surface, x * sizeof(float), y);
}

int main() {
    const int width = 8, height = 4;
    std::vector<float> image(width * height), read(width * height);
    for (int i = 0; i < width * height; ++i) image[i] = i;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    OK(cudaMallocArray(&array, &format, width, height, cudaArraySurfaceLoadStore));
    OK(cudaMemcpy2DToArray(array, 0, 0, image.data(), width * 4, width * 4, height, cudaMemcpyHostToDevice));
    float* out;
    OK(cudaMallocManaged(&out, width * height * sizeof(float)));

    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc sampling = {};
    sampling.addressMode[0] = sampling.addressMode[1] = cudaAddressModeClamp;
    sampling.filterMode = cudaFilterModePoint;
    sampling.readMode = cudaReadModeElementType;
    cudaTextureObject_t points, linear;
    OK(cudaCreateTextureObject(&points, &resource, &sampling, nullptr));
    sample<<<height, 32>>>(points, out, width, height);
    OK(cudaDeviceSynchronize());
    CHECK(out[0] == 0 && out[31] == 31 && out[13] == 13);
    sampling.filterMode = cudaFilterModeLinear;
    sampling.normalizedCoords = 1;
    OK(cudaCreateTextureObject(&linear, &resource, &sampling, nullptr));
    between<<<1, 7>>>(linear, out);
    OK(cudaDeviceSynchronize());
    CHECK(std::fabs(out[0] - 0.5f) < 0.01f && std::fabs(out[6] - 6.5f) < 0.01f);
    cudaResourceDesc known = {};
    OK(cudaGetTextureObjectResourceDesc(&known, points));
    CHECK(known.resType == cudaResourceTypeArray && known.res.array.array == array);
    cudaTextureDesc how = {};
    OK(cudaGetTextureObjectTextureDesc(&how, linear));
    CHECK(how.filterMode == cudaFilterModeLinear && how.normalizedCoords == 1 && how.addressMode[1] == cudaAddressModeClamp);

    cudaSurfaceObject_t surface;
    OK(cudaCreateSurfaceObject(&surface, &resource));
    write<<<height, width>>>(surface, width);
    OK(cudaMemcpy2DFromArray(read.data(), width * 4, array, 0, 0, width * 4, height, cudaMemcpyDeviceToHost));
    CHECK(read[0] == 100 && read[31] == 131);
    OK(cudaGetSurfaceObjectResourceDesc(&known, surface));
    CHECK(known.res.array.array == array);

    std::vector<int2> pairs(16);
    for (int i = 0; i < 16; ++i) pairs[i] = make_int2(i, -i);
    int2* memory;
    OK(cudaMalloc(&memory, sizeof(int2) * 16));
    OK(cudaMemcpy(memory, pairs.data(), sizeof(int2) * 16, cudaMemcpyHostToDevice));
    cudaResourceDesc rows = {};
    rows.resType = cudaResourceTypeLinear;
    rows.res.linear.devPtr = memory;
    rows.res.linear.desc = cudaCreateChannelDesc<int2>();
    rows.res.linear.sizeInBytes = sizeof(int2) * 16;
    cudaTextureDesc plain = {};
    plain.readMode = cudaReadModeElementType;
    cudaTextureObject_t fetched;
    OK(cudaCreateTextureObject(&fetched, &rows, &plain, nullptr));
    fetch<<<1, 32>>>(fetched, (int*)out, 16);
    OK(cudaDeviceSynchronize());
    CHECK(((int*)out)[15] == 135);

    size_t pitch;
    unsigned char* bytes;
    OK(cudaMallocPitch(&bytes, &pitch, 16, 2));
    std::vector<unsigned char> grey(32, 51);
    OK(cudaMemcpy2D(bytes, pitch, grey.data(), 16, 16, 2, cudaMemcpyHostToDevice));
    cudaResourceDesc plane = {};
    plane.resType = cudaResourceTypePitch2D;
    plane.res.pitch2D.devPtr = bytes;
    plane.res.pitch2D.desc = cudaCreateChannelDesc<unsigned char>();
    plane.res.pitch2D.width = 16, plane.res.pitch2D.height = 2, plane.res.pitch2D.pitchInBytes = pitch;
    cudaTextureDesc scaled = {};
    scaled.readMode = cudaReadModeNormalizedFloat;
    scaled.addressMode[0] = scaled.addressMode[1] = cudaAddressModeClamp;
    cudaTextureObject_t grey_texture;
    OK(cudaCreateTextureObject(&grey_texture, &plane, &scaled, nullptr));
    sample<<<2, 16>>>(grey_texture, out, 16, 2);
    OK(cudaDeviceSynchronize());
    CHECK(std::fabs(out[5] - 0.2f) < 1e-6f);
    for (auto texture : {points, linear, fetched, grey_texture}) OK(cudaDestroyTextureObject(texture));
    OK(cudaDestroySurfaceObject(surface));
    OK(cudaFreeArray(array));
    for (void* p : {(void*)memory, (void*)bytes, (void*)out}) OK(cudaFree(p));
    return finish();
}
