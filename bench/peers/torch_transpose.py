"""PyTorch's copy of a transposed view, for elements of one and two bytes, which cuBLAS does not have; see torch_peer.py.

    python3 bench/peers/torch_transpose.py transpose - u8 8192x8192 42 21 cold 0 FOLDER
"""

from torch_peer import Request


def main():
    request = Request("PyTorch")
    if request.dtype not in ("u8", "f16"):
        request.skip("elements of four and eight bytes are compared with cuBLAS and NPP")
    rows, columns = request.shape if len(request.shape) == 2 else request.shape * 2
    if rows * columns == 0:
        request.skip("the matrix is empty")
    torch = request.torch()
    n = rows * columns
    if request.dtype == "u8":
        matrix = (request.random(n) & 255).to(torch.uint8)
    else:
        matrix = request.floats(n, 0, torch.float16)
    matrix = matrix.reshape(rows, columns)
    result = torch.empty(columns, rows, dtype=matrix.dtype, device="cuda")
    samples = request.measure(lambda: result.copy_(matrix.t()), 2 * matrix.nbytes)
    request.report(torch.__version__.split("+")[0], samples, result, [columns, rows])


if __name__ == "__main__":
    main()
