// Graphs: captured, built by hand, updated, cloned.
#include "check.h"
#include <vector>

__global__ void axpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

static void CUDART_CB note(void* count) { ++*(int*)count; }

int main() {
    const int n = 1000, bytes = n * sizeof(float);
    float *x, *y;
    std::vector<float> ones(n, 1), out(n);
    OK(cudaMalloc(&x, bytes));
    OK(cudaMalloc(&y, bytes));
    OK(cudaMemcpy(x, ones.data(), bytes, cudaMemcpyHostToDevice));
    OK(cudaMemset(y, 0, bytes));

    // Captured, with a fork and a join.
    cudaStream_t stream, side;
    cudaEvent_t fork, join;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamCreate(&side));
    OK(cudaEventCreate(&fork));
    OK(cudaEventCreate(&join));
    int notes = 0;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    axpy<<<4, 256, 0, stream>>>(2, x, y, n);
    OK(cudaEventRecord(fork, stream));
    OK(cudaStreamWaitEvent(side, fork));
    OK(cudaLaunchHostFunc(side, note, &notes));
    OK(cudaEventRecord(join, side));
    axpy<<<4, 256, 0, stream>>>(3, x, y, n);
    OK(cudaStreamWaitEvent(stream, join));
    OK(cudaMemcpyAsync(out.data(), y, bytes, cudaMemcpyDeviceToHost, stream));
    cudaStreamCaptureStatus status;
    OK(cudaStreamIsCapturing(stream, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    OK(cudaStreamEndCapture(stream, &graph));
    size_t nodes = 0, roots = 0, edges = 0;
    OK(cudaGraphGetNodes(graph, nullptr, &nodes));
    OK(cudaGraphGetRootNodes(graph, nullptr, &roots));
#if CUDART_VERSION >= 13000
    OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
#else
    OK(cudaGraphGetEdges(graph, nullptr, nullptr, &edges));
#endif
    CHECK(nodes == 4 && roots == 1 && edges == 4);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; ++i) OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(out[0] == 15 && out[n - 1] == 15 && notes == 3);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));

    // By hand.
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t fill, kernel, copy, host, empty;
    cudaMemsetParams zero = {};
    zero.dst = y, zero.value = 0, zero.elementSize = 4, zero.width = n, zero.height = 1;
    OK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &zero));
    float a = 4;
    int count = n;
    void* arguments[] = {&a, &x, &y, &count};
    cudaKernelNodeParams call = {};
    call.func = (void*)axpy;
    call.gridDim = dim3(4), call.blockDim = dim3(256);
    call.kernelParams = arguments;
    OK(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &call));
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, out.data(), y, bytes, cudaMemcpyDeviceToHost));
    cudaHostNodeParams function = {note, &notes};
    OK(cudaGraphAddHostNode(&host, graph, nullptr, 0, &function));
    OK(cudaGraphAddEmptyNode(&empty, graph, nullptr, 0));
#if CUDART_VERSION >= 13000
    OK(cudaGraphAddDependencies(graph, &copy, &empty, nullptr, 1));
#else
    OK(cudaGraphAddDependencies(graph, &copy, &empty, 1));
#endif
    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(kernel, &type));
    CHECK(type == cudaGraphNodeTypeKernel);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(out[7] == 4 && notes == 4);
    a = 6;
    OK(cudaGraphExecKernelNodeSetParams(exec, kernel, &call));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(out[7] == 6);
    a = 8;
    OK(cudaGraphKernelNodeSetParams(kernel, &call));
    cudaGraphExecUpdateResultInfo updated;
    OK(cudaGraphExecUpdate(exec, graph, &updated));
    CHECK(updated.result == cudaGraphExecUpdateSuccess);
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(out[7] == 8);

    // A graph in a graph, and a clone.
    cudaGraph_t outer, clone;
    cudaGraphNode_t child;
    OK(cudaGraphCreate(&outer, 0));
    OK(cudaGraphAddChildGraphNode(&child, outer, nullptr, 0, graph));
    OK(cudaGraphClone(&clone, outer));
    OK(cudaGraphDestroy(outer));
    cudaGraphExec_t again;
    OK(cudaGraphInstantiate(&again, clone, 0));
    out[7] = 0;
    OK(cudaGraphLaunch(again, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(out[7] == 8);
    OK(cudaGraphExecDestroy(again));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(clone));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(x));
    OK(cudaFree(y));
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(side));
    return finish();
}
