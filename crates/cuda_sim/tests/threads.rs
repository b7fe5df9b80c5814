//! A function of the host for which the system has no thread.

#![expect(clippy::undocumented_unsafe_blocks, reason = "every call of the driver is unsafe")]

// The library that defines the functions.
use cuda_sim as _;

unsafe extern "C" {
    fn cuInit(flags: u32) -> u32;
    fn cuCtxCreate_v2(context: *mut usize, flags: u32, device: i32) -> u32;
    fn cuStreamCreate(stream: *mut usize, flags: u32) -> u32;
    fn cuStreamSynchronize(stream: usize) -> u32;
    fn cuLaunchHostFunc(stream: usize, function: usize, data: usize) -> u32;
}

/// The only test of this process, because it takes away the process's room for new threads.
#[test]
fn a_stream_goes_on_when_there_is_no_thread() {
    extern "C" fn nothing(_: usize) {}
    let (mut context, mut stream) = (0, 0);
    assert_eq!(unsafe { cuInit(0) }, 0);
    assert_eq!(unsafe { cuCtxCreate_v2(&mut context, 0, 0) }, 0);
    assert_eq!(unsafe { cuStreamCreate(&mut stream, 1) }, 0);
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) }, 0);
    // Less than the stack of a thread.
    let less = libc::rlimit { rlim_cur: 1 << 20, ..limit };
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &less) }, 0);
    let code = unsafe { cuLaunchHostFunc(stream, nothing as *const () as usize, 0) };
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
    assert_eq!(code, 2, "CUDA_ERROR_OUT_OF_MEMORY");
    assert_eq!(unsafe { cuStreamSynchronize(stream) }, 0);
}
