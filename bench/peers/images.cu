// NPP's convolutions of images, as `conv2d` and `separable`; see peer.h and npp.h.
//
//     nvcc -O3 -std=c++17 -arch=native bench/peers/images.cu -o target/peers/images
//
// NPP repeats the pixels at an edge, or reads beyond it: for the border `zero`, the image lies within zeros, which are written before the
// measurement. It has masks of f32 for images of u8, f16 and f32. A separable mask is one call with the product of its column and row, and
// for images of f32 also two calls, a row and a column (`NPP-passes`). The functions for rows and columns of u8 are left out: they round and
// clamp between the two, which is another result.
//
// NPP's manual states no rounding for u8, so results that are off by one pass.
#include "npp.h"

#if HAS_NPP
struct Image {
    int rows, columns, channels;

    size_t elements() const { return (size_t)rows * columns * channels; }
    NppiSize size() const { return {columns, rows}; }
};

// NPP's type of an element.
template <typename T>
struct Of {
    using Type = T;
};
template <>
struct Of<__half> {
    using Type = Npp16f;
};
template <typename T>
using Npp = typename Of<T>::Type;

template <typename T>
using Filter = NppStatus (*)(const Npp<T>*, int, Npp<T>*, int, NppiSize, const Npp32f*, NppiSize, NppiPoint, NppStreamContext);
template <typename T>
using FilterBorder = NppStatus (*)(const Npp<T>*, int, NppiSize, NppiPoint, Npp<T>*, int, NppiSize, const Npp32f*, NppiSize, NppiPoint,
                                   NppiBorderType, NppStreamContext);
using FilterLine = NppStatus (*)(const Npp32f*, Npp32s, Npp32f*, Npp32s, NppiSize, const Npp32f*, Npp32s, Npp32s, NppStreamContext);

// The function whose name has this number of channels: C1, C3 or C4.
#define OF_CHANNELS(channels, before, after) \
    ((channels) == 1 ? NPP("if", before##C1##after) : (channels) == 3 ? NPP("if", before##C3##after) : NPP("if", before##C4##after))

static Filter<uint8_t> filter(int channels, uint8_t*) { return OF_CHANNELS(channels, nppiFilter32f_8u_, R_Ctx); }
static Filter<__half> filter(int channels, __half*) { return OF_CHANNELS(channels, nppiFilter32f_16f_, R_Ctx); }
static Filter<float> filter(int channels, float*) { return OF_CHANNELS(channels, nppiFilter_32f_, R_Ctx); }
static FilterBorder<uint8_t> filter_border(int channels, uint8_t*) { return OF_CHANNELS(channels, nppiFilterBorder32f_8u_, R_Ctx); }
static FilterBorder<__half> filter_border(int channels, __half*) { return OF_CHANNELS(channels, nppiFilterBorder32f_16f_, R_Ctx); }
static FilterBorder<float> filter_border(int channels, float*) { return OF_CHANNELS(channels, nppiFilterBorder_32f_, R_Ctx); }

// An image within zeros; its rows start on a boundary of 256 bytes.
template <typename T>
struct Padded {
    T* first;
    int pitch;

    Padded(Image image, int rows_around, int columns_around) {
        size_t before = aligned((size_t)columns_around * image.channels * sizeof(T));
        size_t bytes = aligned(before + (size_t)(image.columns + columns_around) * image.channels * sizeof(T));
        char* memory;
        CHECK(cudaMalloc(&memory, bytes * (image.rows + 2 * rows_around)));
        CHECK(cudaMemset(memory, 0, bytes * (image.rows + 2 * rows_around)));
        first = (T*)(memory + bytes * rows_around + before);
        pitch = (int)bytes;
    }

    static size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

    void copy(const T* from, Image image) {
        size_t width = (size_t)image.columns * image.channels * sizeof(T);
        CHECK(cudaMemcpy2D(first, pitch, from, width, width, image.rows, cudaMemcpyDeviceToDevice));
    }
};

// Taps as `host` generates them: those of bytes add up to about 1.
static std::vector<float> taps(const Request& request, size_t n, int operand) {
    std::vector<float> taps(n);
    CHECK(cudaMemcpy(taps.data(), request.generate<float>(n, operand), n * sizeof(float), cudaMemcpyDeviceToHost));
    float share = 2.0f / n;
    if (request.dtype == "u8") std::for_each(taps.begin(), taps.end(), [&](float& tap) { tap = (tap + 0.5f) * share; });
    return taps;
}

// A mask on the GPU. NPP multiplies the first tap by the last pixel.
static float* reversed(const std::vector<float>& taps) {
    std::vector<float> last_first(taps.rbegin(), taps.rend());
    float* memory;
    CHECK(cudaMalloc(&memory, taps.size() * sizeof(float)));
    CHECK(cudaMemcpy(memory, last_first.data(), taps.size() * sizeof(float), cudaMemcpyHostToDevice));
    return memory;
}

template <typename T>
void run_mask(const Request& request, Image image, const T* in, const std::vector<float>& mask, NppiSize size, bool clamp, T* out,
              const Comparison& comparison) {
    const float* kernel = reversed(mask);
    NppiPoint origin = {0, 0}, middle = {size.width / 2, size.height / 2};
    int pitch = (int)(image.columns * image.channels * sizeof(T));
    auto context = npp_context();
    size_t bytes = 2 * image.elements() * sizeof(T);
    auto* to = (Npp<T>*)out;
    if (clamp) {
        auto function = filter_border(image.channels, (T*)nullptr);
        auto call = [&] {
            return function((const Npp<T>*)in, pitch, image.size(), origin, to, pitch, image.size(), kernel, size, middle, NPP_BORDER_REPLICATE,
                            context);
        };
        return measure_npp(request, "NPP", bytes, out, request.size, call, comparison);
    }
    auto function = filter(image.channels, (T*)nullptr);
    Padded<T> padded(image, size.height / 2, size.width / 2);
    padded.copy(in, image);
    auto call = [&] {
        return function((const Npp<T>*)padded.first, padded.pitch, to, pitch, image.size(), kernel, size, middle, context);
    };
    measure_npp(request, "NPP", bytes, out, request.size, call, comparison);
}

// A row, then a column of f32, with zeros around the image.
static void run_passes(const Request& request, Image image, const float* in, const std::vector<float>& column, const std::vector<float>& row,
                       float* out, const Comparison& comparison) {
    FilterLine across = OF_CHANNELS(image.channels, nppiFilterRow_32f_, R_Ctx), down = OF_CHANNELS(image.channels, nppiFilterColumn_32f_, R_Ctx);
    const float *of_row = reversed(row), *of_column = reversed(column);
    int columns = (int)row.size(), rows = (int)column.size(), pitch = (int)(image.columns * image.channels * sizeof(float));
    Padded<float> floats(image, 0, columns / 2), sums(image, rows / 2, 0);
    floats.copy(in, image);
    auto context = npp_context();
    auto call = [&] {
        NppStatus status = across(floats.first, floats.pitch, sums.first, sums.pitch, image.size(), of_row, columns, columns / 2, context);
        if (status != NPP_SUCCESS) return status;
        return down(sums.first, sums.pitch, out, pitch, image.size(), of_column, rows, rows / 2, context);
    };
    measure_npp(request, "NPP-passes", 2 * image.elements() * sizeof(float), out, request.size, call, comparison);
}

template <typename T>
void run(const Request& request, Image image, size_t rows, size_t columns, bool clamp) {
    T *in = request.generate<T>(image.elements()), *out;
    CHECK(cudaMalloc(&out, image.elements() * sizeof(T)));
    NppiSize size = {(int)columns, (int)rows};
    Comparison comparison = {sizeof(T) == 1 ? 1.0 : 0.0};
    if (request.family == "conv2d") return run_mask(request, image, in, taps(request, rows * columns, 1), size, clamp, out, comparison);
    std::vector<float> column = taps(request, rows, 1), row = taps(request, columns, 2), mask;
    for (float y : column) {
        for (float x : row) mask.push_back(y * x);
    }
    run_mask(request, image, in, mask, size, clamp, out, comparison);
    if constexpr (std::is_same_v<T, float>) {
        CHECK(cudaMemset(out, 0, image.elements() * sizeof(T)));
        if (!clamp) run_passes(request, image, in, column, row, out, comparison);
    }
}
#endif

int main(int argc, char** argv) {
    Request request(argc, argv);
#if HAS_NPP
    size_t columns = strtoull(request.value("mask", "5").c_str(), nullptr, 10), rows = strtoull(request.value("mask-rows", "0").c_str(), nullptr, 10);
    if (!rows) rows = columns;
    std::string border = request.value("border", "zero");
    if (request.size.size() == 1) request.size.push_back(request.size[0]);
    Image image = {(int)request.size[0], (int)request.size[1], request.size.size() == 3 ? (int)request.size[2] : 1};
    if (image.channels != 1 && image.channels != 3 && image.channels != 4) skip("its images have 1, 3 or 4 channels");
    if (rows % 2 == 0 || columns % 2 == 0) skip("an even mask has no middle");
    if (border != "zero" && border != "clamp") skip("it has no mirror images at the edges");
    if (!image.elements()) skip("the image is empty");
    if (request.dtype == "u8") run<uint8_t>(request, image, rows, columns, border == "clamp");
    if (request.dtype == "f16") run<__half>(request, image, rows, columns, border == "clamp");
    if (request.dtype == "f32" && request.family == "conv2d") skip("its results of f32 are not within the bound: cuDNN is measured");
    if (request.dtype == "f32") run<float>(request, image, rows, columns, border == "clamp");
#else
    (void)request;
    skip("this program was compiled without its headers");
#endif
    return 0;
}
