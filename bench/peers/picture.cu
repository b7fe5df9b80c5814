// NPP's multiplication by a constant, conversion to grey and box filter, as `picture` of bytes; see peer.h and npp.h.
//
//     nvcc -O3 -std=c++17 -arch=native bench/peers/picture.cu -o target/peers/picture
//
// Ours rounds halves up. NPP's manual states no rounding for these functions, so results that are off by one pass.
#include "npp.h"

#if HAS_NPP
struct Picture {
    int rows, columns, channels;

    __host__ __device__ size_t bytes() const { return (size_t)rows * columns * channels; }
    int pitch() const { return columns * channels; }
};

// Bytes times PERCENT / 100, which NPP takes as a byte divided by a power of two. The channels of a pixel have the same factor, so that the
// picture is one of `columns * channels` shades of grey.
static void run_scale(const Request& request, Picture picture, std::vector<size_t> shape) {
    unsigned percent = (unsigned)atoi(request.value("percent", "200").c_str()), shift = 0;
    while (shift < 7 && (percent << shift) % 100) shift++;
    unsigned factor = (percent << shift) / 100;
    if ((percent << shift) % 100 || factor > 255) skip("its factors are bytes divided by powers of two");
    auto multiply = NPP("ial", nppiMulC_8u_C1RSfs_Ctx);
    uint8_t *in = request.generate<uint8_t>(picture.bytes()), *out;
    CHECK(cudaMalloc(&out, picture.bytes()));
    auto context = npp_context();
    auto call = [&] {
        return multiply(in, picture.pitch(), (Npp8u)factor, out, picture.pitch(), {picture.pitch(), picture.rows}, (int)shift, context);
    };
    measure_npp(request, "NPP", 2 * picture.bytes(), out, shape, call, {shift ? 1.0 : 0.0});
}

// 0.299 r + 0.587 g + 0.114 b, in f32.
static void run_grey(const Request& request, Picture picture, std::vector<size_t> shape) {
    if (picture.channels != 3) skip("shades of grey need no conversion");
    auto convert = NPP("icc", nppiRGBToGray_8u_C3C1R_Ctx);
    uint8_t *in = request.generate<uint8_t>(picture.bytes()), *out;
    CHECK(cudaMalloc(&out, picture.bytes() / 3));
    auto context = npp_context();
    auto call = [&] { return convert(in, picture.pitch(), out, picture.columns, {picture.columns, picture.rows}, context); };
    shape.resize(2);
    measure_npp(request, "NPP", picture.bytes() / 3 * 4, out, shape, call, {1.0});
}

// The average of the part of the square inside the picture, for pixels less than `radius` from an edge.
__global__ void edges_kernel(const uint8_t* in, Picture picture, int radius, uint8_t* out) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < picture.bytes(); i += (size_t)gridDim.x * blockDim.x) {
        int channel = i % picture.channels, x = i / picture.channels % picture.columns, y = i / picture.channels / picture.columns;
        int left = max(x - radius, 0), right = min(x + radius, picture.columns - 1);
        int top = max(y - radius, 0), bottom = min(y + radius, picture.rows - 1);
        int count = (right - left + 1) * (bottom - top + 1), side = 2 * radius + 1;
        if (count == side * side) continue;
        int sum = 0;
        for (int row = top; row <= bottom; row++) {
            for (int column = left; column <= right; column++) sum += in[((size_t)row * picture.columns + column) * picture.channels + channel];
        }
        out[i] = (uint8_t)((2 * sum + count) / (2 * count));
    }
}

// NPP repeats the pixels at an edge, and ours leaves out what is outside the picture: after the measurement, the pixels that see an edge are
// replaced by ours, so that those inside are compared.
static void run_blur(const Request& request, Picture picture, std::vector<size_t> shape) {
    int radius = atoi(request.value("radius", "1").c_str()), side = 2 * radius + 1;
    bool colours = picture.channels == 3;
    auto box = colours ? NPP("if", nppiFilterBoxBorder_8u_C3R_Ctx) : NPP("if", nppiFilterBoxBorder_8u_C1R_Ctx);
    auto advanced = colours ? NPP("if", nppiFilterBoxBorderAdvanced_8u_C3R_Ctx) : NPP("if", nppiFilterBoxBorderAdvanced_8u_C1R_Ctx);
    auto buffer_size = NPP("if", nppiFilterBoxBorderAdvancedGetDeviceBufferSize);
    uint8_t *in = request.generate<uint8_t>(picture.bytes()), *out, *buffer;
    CHECK(cudaMalloc(&out, picture.bytes()));
    auto context = npp_context();
    NppiSize size = {picture.columns, picture.rows}, square = {side, side};
    NppiPoint origin = {0, 0}, middle = {radius, radius};
    int pitch = picture.pitch();
    auto finish = [&] {
        edges_kernel<<<1024, 256>>>(in, picture, radius, out);
        CHECK(cudaGetLastError());
    };
    Comparison comparison = {1.0, finish};
    auto simple = [&] { return box(in, pitch, size, origin, out, pitch, size, square, middle, NPP_BORDER_REPLICATE, context); };
    measure_npp(request, "NPP", 2 * picture.bytes(), out, shape, simple, comparison);
    int buffer_bytes = 0;
    if (buffer_size(size, picture.channels, &buffer_bytes) != NPP_SUCCESS) return;
    CHECK(cudaMalloc(&buffer, std::max(buffer_bytes, 1)));
    CHECK(cudaMemset(out, 0, picture.bytes()));
    auto with_buffer = [&] {
        return advanced(in, pitch, size, origin, out, pitch, size, square, middle, NPP_BORDER_REPLICATE, buffer, context);
    };
    measure_npp(request, "NPP-advanced", 2 * picture.bytes(), out, shape, with_buffer, comparison);
}
#endif

int main(int argc, char** argv) {
    Request request(argc, argv);
#if HAS_NPP
    std::vector<size_t> shape = request.size;
    // As in crates/ladders/src/kernels/picture: one number is a square, and a picture without a third number is in colours.
    if (shape.size() == 1) shape.push_back(shape[0]);
    if (shape.size() == 2) shape.push_back(3);
    Picture picture = {(int)shape[0], (int)shape[1], (int)shape[2]};
    if (request.dtype != "u8") skip("it is called for bytes only");
    if (!picture.bytes()) skip("the picture is empty");
    if (request.op == "scale") run_scale(request, picture, shape);
    if (request.op == "grey") run_grey(request, picture, shape);
    if (request.op == "blur") run_blur(request, picture, shape);
#else
    (void)request;
    skip("this program was compiled without its headers");
#endif
    return 0;
}
