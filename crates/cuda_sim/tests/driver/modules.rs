//! Modules, libraries, the linker, and the ways to pass parameters.

use super::*;
use std::ffi::{CStr, c_void};

/// Two modules of one text have variables of their own.
#[test]
fn modules_have_variables_of_their_own() {
    start();
    let (first, second) = (module(), module());
    for (module, launches) in [(first, 2), (second, 1), (first, 1)] {
        for _ in 0..launches {
            ok(launch(function(module, "count"), 0, &[]));
        }
    }
    let value = |module| {
        let (mut address, mut bytes, mut value) = (0, 0, 0_u32);
        ok(unsafe { cuModuleGetGlobal_v2(&mut address, &mut bytes, module, c"counter".as_ptr()) });
        assert_eq!(bytes, 4);
        ok(unsafe { cuMemcpyDtoH_v2((&raw mut value) as u64, address, 4) });
        value
    };
    assert_eq!((value(first), value(second)), (8, 6));
    ok(unsafe { cuModuleUnload(first) });
    assert_eq!(unsafe { cuModuleUnload(first) }, 400);
    assert_eq!(value(second), 6);
    let mut nothing = 0;
    assert_eq!(unsafe { cuModuleGetFunction(&mut nothing, second, c"no_such".as_ptr()) }, 500);
}

/// The three ways to launch, and a library's kernel in place of a function.
#[test]
fn ways_to_pass_parameters() {
    start();
    let add = function(module(), "add");
    let data = words([0; 32]);
    let packed = [data, 7];
    let size = 16_usize;
    let extra = [1, packed.as_ptr() as usize, 2, (&raw const size) as usize, 0];
    let null = std::ptr::null();
    ok(unsafe { cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, 0, null, extra.as_ptr()) });
    let (mut library, mut kernel, text) = (0, 0, CString::new(PTX).expect("text"));
    let (none, empty) = (std::ptr::null(), std::ptr::null());
    ok(unsafe { cuLibraryLoadData(&mut library, text.as_ptr().cast(), none, empty, 0, none, empty, 0) });
    ok(unsafe { cuLibraryGetKernel(&mut kernel, library, c"add".as_ptr()) });
    let value = [data, 30];
    let pointers = value.each_ref().map(std::ptr::from_ref);
    let dimensions = [1, 1, 1, 32, 1, 1, 0];
    let config = Config { dimensions, stream: 0, attributes: std::ptr::null(), count: 0 };
    ok(unsafe { cuLaunchKernelEx(&config, kernel, pointers.as_ptr().cast(), std::ptr::null()) });
    assert_eq!(read(data), [37; 32]);
    let short = 8_usize;
    let extra = [1, packed.as_ptr() as usize, 2, (&raw const short) as usize, 0];
    assert_eq!(unsafe { cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, 0, null, extra.as_ptr()) }, 1);
    assert_eq!(unsafe { cuLaunchKernel(add, 1, 1, 1, 2048, 1, 1, 0, 0, pointers.as_ptr().cast(), extra.as_ptr()) }, 1);
    assert_eq!(unsafe { cuLaunchKernel(12345, 1, 1, 1, 32, 1, 1, 0, 0, null, extra.as_ptr()) }, 400);
}

/// Dynamic shared memory beyond 48 KiB needs the function's attribute, as on a GPU.
#[test]
fn large_shared_memory_is_asked_for() {
    start();
    let (add, data) = (function(module(), "add"), words([0; 32]));
    let value = [data, 1];
    let pointers = value.each_ref().map(std::ptr::from_ref);
    let (most, null) = (100 << 10, std::ptr::null());
    let run = || unsafe { cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, most, 0, pointers.as_ptr().cast(), null) };
    assert_eq!(run(), 1);
    ok(unsafe { cuFuncSetAttribute(add, 8, most as i32) });
    ok(run());
    assert_eq!(unsafe { cuFuncSetAttribute(add, 8, 1 << 20) }, 1);
    let (mut threads, mut version) = (0, 0);
    ok(unsafe { cuFuncGetAttribute(&mut threads, 0, add) });
    ok(unsafe { cuFuncGetAttribute(&mut version, 5, add) });
    assert_eq!((threads, version), (1024, 75));
}

#[test]
fn code_that_is_refused_says_why() {
    start();
    let mut module = 0;
    let elf = b"\x7fELF\0\0\0\0";
    assert_eq!(unsafe { cuModuleLoadData(&mut module, elf.as_ptr()) }, 209);
    let mut log = [0_u8; 200];
    let options = [5, 6];
    let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(log.len())];
    let text = c".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry f() { nonsense }";
    let code =
        unsafe { cuModuleLoadDataEx(&mut module, text.as_ptr().cast(), 2, options.as_ptr(), values.as_mut_ptr()) };
    assert_eq!(code, 218);
    let written = CStr::from_bytes_until_nul(&log).expect("ended").to_string_lossy().into_owned();
    assert!(written.contains("nonsense") || written.contains("line 4"), "{written}");
    assert_eq!(values[1] as usize, written.len(), "the size is that of the text now");
}

/// Texts that refer to each other, and the linked text as a module.
#[test]
fn texts_are_linked() {
    start();
    let header = ".version 7.8\n.target sm_75\n.address_size 64\n";
    let caller = format!(
        "{header}.extern .func (.param .b32 r) seven();\n.visible .entry store(.param .u64 data) {{\n\
         .reg .b32 %r<2>; .reg .b64 %rd<2>;\n.param .b32 result;\nld.param.u64 %rd1, [data];\n\
         call.uni (result), seven, ();\nld.param.b32 %r1, [result];\nst.global.u32 [%rd1], %r1;\nret;\n}}"
    );
    let callee = format!("{header}.visible .func (.param .b32 r) seven() {{ st.param.b32 [r], 7; ret; }}");
    let (mut linker, mut output, mut bytes, mut module) = (0, std::ptr::null(), 0, 0);
    let (null, none) = (std::ptr::null(), std::ptr::null());
    ok(unsafe { cuLinkCreate_v2(0, null, none, &mut linker) });
    for text in [&caller, &callee] {
        let data = text.as_ptr();
        ok(unsafe { cuLinkAddData_v2(linker, 1, data, text.len(), c"part".as_ptr(), 0, null, none) });
    }
    assert_eq!(unsafe { cuLinkAddData_v2(linker, 0, caller.as_ptr(), 8, c"x".as_ptr(), 0, null, none) }, 200);
    ok(unsafe { cuLinkComplete(linker, &mut output, &mut bytes) });
    ok(unsafe { cuModuleLoadData(&mut module, output) });
    ok(unsafe { cuLinkDestroy(linker) });
    let data = words([0; 32]);
    ok(launch(function(module, "store"), 0, &[data]));
    assert_eq!(read(data)[0], 7);
}

/// A link with the device runtime's library has the barrier of a cooperative grid, and the linker's limit on registers
/// is that of its kernels.
#[test]
fn a_link_with_the_device_runtime() {
    start();
    // Each of four blocks stores its number, and after the barrier reads the next block's.
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n
        .extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 scope);
        .extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);
        .visible .entry meet(.param .u64 p) {
        .reg .b64 %p, %at, %handle; .reg .b32 %id, %one;
        ld.param.u64 %p, [p];
        mov.u32 %id, %ctaid.x;
        mul.wide.u32 %at, %id, 4;
        add.s64 %at, %at, %p;
        st.global.u32 [%at], %id;
        { .param .b32 scope; .param .b64 r; st.param.b32 [scope], 1;
          call (r), cudaCGGetIntrinsicHandle, (scope); ld.param.b64 %handle, [r]; }
        { .param .b64 handle; .param .b32 flags; .param .b32 r; st.param.b64 [handle], %handle; st.param.b32 [flags], 0;
          call (r), cudaCGSynchronize, (handle, flags); }
        add.u32 %id, %id, 1;
        and.b32 %id, %id, 3;
        mul.wide.u32 %at, %id, 4;
        add.s64 %at, %at, %p;
        ld.global.u32 %one, [%at];
        mov.u32 %id, %ctaid.x;
        mul.wide.u32 %at, %id, 4;
        add.s64 %at, %at, %p;
        st.global.u32 [%at + 16], %one;
        ret; }";
    // A kernel with 64 values at a time.
    let each = |line: &dyn Fn(u32) -> String| (0..64).map(line).collect::<String>();
    let wide = format!(
        ".visible .entry wide(.param .u64 p) {{ .reg .b64 %p; .reg .b32 %v<64>; ld.param.u64 %p, [p]; {} {} ret; }}",
        each(&|n| format!("ld.global.u32 %v{n}, [%p + {}];", 4 * n)),
        each(&|n| format!("st.global.u32 [%p + {}], %v{n};", 252 - 4 * n))
    );
    let text = text.to_owned() + &wide;
    let (mut linker, mut output, mut bytes, mut module) = (0, std::ptr::null(), 0, 0);
    let (null, none) = (std::ptr::null(), std::ptr::null());
    let (options, values) = ([0], [32_usize as *mut c_void]);
    ok(unsafe { cuLinkCreate_v2(1, options.as_ptr(), values.as_ptr().cast(), &mut linker) });
    ok(unsafe { cuLinkAddData_v2(linker, 1, text.as_ptr(), text.len(), c"part".as_ptr(), 0, null, none) });
    let archive = b"!<arch>\n";
    ok(unsafe { cuLinkAddData_v2(linker, 4, archive.as_ptr(), archive.len(), c"devrt".as_ptr(), 0, null, none) });
    ok(unsafe { cuLinkComplete(linker, &mut output, &mut bytes) });
    ok(unsafe { cuModuleLoadData(&mut module, output) });
    ok(unsafe { cuLinkDestroy(linker) });
    let (data, meet, mut registers) = (words([0; 32]), function(module, "meet"), 0);
    let parameters = [&raw const data];
    ok(unsafe { cuLaunchCooperativeKernel(meet, 4, 1, 1, 32, 1, 1, 0, 0, parameters.as_ptr().cast()) });
    assert_eq!(read(data)[4..8], [1, 2, 3, 0]);
    ok(unsafe { cuFuncGetAttribute(&mut registers, 4, function(module, "wide")) });
    assert_eq!(registers, 32);
}

/// The newest variant that is not newer than the version asked for.
#[test]
fn functions_by_name_and_version() {
    start();
    let find = |name: &CStr, version, flags| {
        let (mut function, mut status) = (std::ptr::null_mut(), 9);
        let code = unsafe { cuGetProcAddress_v2(name.as_ptr(), &mut function, version, flags, &mut status) };
        (code, function as usize, status)
    };
    let address = |function: *const ()| function as usize;
    assert_eq!(find(c"cuMemAlloc", 3020, 0), (0, address(cuMemAlloc_v2 as *const ()), 0));
    assert_eq!(find(c"cuMemAlloc", 13_000, 1), (0, address(cuMemAlloc_v2 as *const ()), 0));
    assert_eq!(find(c"cuCtxCreate", 3020, 0), (0, address(cuCtxCreate_v2 as *const ()), 0));
    assert_ne!(find(c"cuCtxCreate", 13_000, 0).1, address(cuCtxCreate_v2 as *const ()));
    let twin = find(c"cuLaunchKernel", 13_000, 2);
    assert!(twin.0 == 0 && twin.1 != address(cuLaunchKernel as *const ()));
    let [plain, twin] = [0, 2].map(|flags| find(c"cuGraphInstantiateWithParams", 13_000, flags));
    assert!(twin.0 == 0 && twin.1 != plain.1);
    // SAFETY: the function has this type, and refuses the graph.
    let twin: extern "C" fn(*mut usize, usize, *mut c_void) -> u32 = unsafe { std::mem::transmute(twin.1) };
    assert_eq!(twin(&mut 0, 0, std::ptr::null_mut()), 1, "it is there");
    assert_eq!(find(c"cuNoSuch", 13_000, 0), (500, 0, 1));
    assert_eq!(find(c"", 0, 0), (500, 0, 1));
    assert_eq!(find(c"cuMemAllocAsync", 3020, 0), (500, 0, 2));
    assert_eq!(unsafe { cuMemMap() }, 801, "what is missing says so");
    let mut value = 0;
    ok(unsafe { cuDeviceGetAttribute(&mut value, 75, 0) });
    assert_eq!(value, 9);
    assert_eq!(unsafe { cuDeviceGetAttribute(&mut value, 75, 4) }, 101);
}
