#include "device.h"
// Bytes: rotates letters by 13, counts words, and the CRC-32 of each line of 64 bytes with a table in constant memory.
__constant__ unsigned nibbles[16] = {0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u, 0x4db26158u, 0x5005713cu,
                                     0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu, 0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu};
static __device__ bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
extern "C" __global__ void strings(char *text, int lines, unsigned *crc, int *words) {
  int line = blockIdx.x * blockDim.x + threadIdx.x;
  if (line >= lines) return;
  char *s = text + line * 64;
  unsigned c = 0xffffffffu;
  int count = 0;
  bool inside = false;
  for (int i = 0; i < 64; i++) {
    char b = s[i];
    c ^= (unsigned char)b;
    c = nibbles[c & 15] ^ c >> 4;
    c = nibbles[c & 15] ^ c >> 4;
    if (letter(b) && !inside) count++;
    inside = letter(b);
    switch (b & ~32) {
      case 'A': case 'B': case 'C': case 'D': case 'E': case 'F': case 'G': case 'H': case 'I': case 'J': case 'K': case 'L': case 'M':
        if (letter(b)) s[i] = b + 13;
        break;
      default:
        if (letter(b)) s[i] = b - 13;
    }
  }
  crc[line] = ~c;
  words[line] = count;
}
