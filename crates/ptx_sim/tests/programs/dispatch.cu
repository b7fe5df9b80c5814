#include "device.h"
// Calls through pointers to functions and through virtual functions, and a recursion.
typedef int (*Operation)(int, int);
static __device__ __attribute__((noinline)) int add(int a, int b) { return a + b; }
static __device__ __attribute__((noinline)) int multiply(int a, int b) { return a * b; }
static __device__ __attribute__((noinline)) int subtract(int a, int b) { return a - b; }
__device__ Operation table[3] = {add, multiply, subtract};
struct Shape { __device__ virtual int area() const = 0; };
struct Square : Shape { int side; __device__ Square(int s) : side(s) {} __device__ int area() const override { return side * side; } };
struct Box : Shape { int w, h; __device__ Box(int a, int b) : w(a), h(b) {} __device__ int area() const override { return w * h; } };
static __device__ __attribute__((noinline)) int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
extern "C" __global__ void dispatch(int *out, int salt) {
  int t = threadIdx.x;
  int value = table[t % 3](t, salt);
  Square square(t + 1);
  Box box(t, 3);
  const Shape *shape = (t * salt) % 2 ? (const Shape *)&square : (const Shape *)&box;
  out[t] = value * 1000 + shape->area() + fibonacci(t % 8);
}
