// Generates the same segments and runs as crates/ladders/src/kernels/lengths.rs.
#pragma once
#include "peer.h"

template <typename N>
std::vector<N> offsets(uint64_t n, const Request& request) {
    uint64_t mean = strtoull(request.value("length", "128").c_str(), nullptr, 10);
    std::string mix = request.value("mix", "equal");
    std::vector<N> all{0};
    for (uint64_t end = 0; end < n; all.push_back((N)end)) {
        uint64_t random = split_mix(request.seed + 1, all.size() - 1), low = random & 0xffffffffull, length = mean;
        if (mix == "uniform") length = low % (2 * mean + 1);
        if (mix == "power") {
            uint64_t unit = std::max<uint64_t>(mean / 11, 1);
            int doublings = 0;
            while (doublings < 20 && !(random >> 32 >> doublings & 1)) doublings++;
            length = low % (2 * unit + 1) << doublings;
        }
        end = std::min(n, end + length);
    }
    return all;
}
