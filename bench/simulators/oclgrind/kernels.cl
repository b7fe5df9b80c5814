// The algorithms of crates/ptx_sim/benches/speed/ptx in OpenCL C.

kernel void gemm(global const float *a, global const float *b, global float *c, uint n) {
    uint column = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (uint k = 0; k < n; k++) {
        sum = fma(a[row * n + k], b[k * n + column], sum);
    }
    c[row * n + column] = sum;
}

kernel void reduce(global const float *in, global float *out, local float *tile) {
    uint thread = get_local_id(0);
    tile[thread] = in[get_global_id(0)];
    for (uint step = get_local_size(0) / 2; step != 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (thread < step) {
            tile[thread] += tile[thread + step];
        }
    }
    if (thread == 0) {
        out[get_group_id(0)] = tile[0];
    }
}

kernel void alu(global uint *out, uint rounds) {
    uint thread = get_global_id(0), y = thread;
    float x = thread, factor = as_float(0x3f7fbe77);
    for (uint i = 0; i < rounds; i++) {
        x = fma(x, factor, factor);
        y = y * y + thread;
        y += (y ^ thread) << 3;
    }
    out[thread] = (uint)x + y;
}

kernel void nothing(global uint *out) { out[get_global_id(0)] = 0; }
