#define DEVICE_HEAP
#include "device.h"
// Each thread builds a linked list on the device's heap, sums it, and gives it back.
struct Node { int value; Node *next; };
extern "C" __global__ void lists(int *out) {
  int t = threadIdx.x;
  Node *head = nullptr;
  for (int i = 0; i <= t; i++) {
    Node *node = new Node;
    node->value = i * i;
    node->next = head;
    head = node;
  }
  int sum = 0;
  while (head) {
    sum += head->value;
    Node *next = head->next;
    delete head;
    head = next;
  }
  out[t] = sum;
}
