//! Managed variables of modules.

use super::*;
use std::ffi::CStr;

const TEXT: &CStr = c".version 8.0
.target sm_80
.address_size 64
.visible .global .attribute(.managed) .align 4 .u32 shared = 40;
.visible .global .align 4 .u32 own;
.visible .entry increment() {
    .reg .b32 %r<2>;
    ld.global.u32 %r1, [shared];
    add.u32 %r1, %r1, 1;
    st.global.u32 [shared], %r1;
    ret;
}";

#[test]
fn host_and_kernels_share_a_managed_variable() {
    start();
    let (mut library, mut kernel) = (0, 0);
    let (none, empty) = (std::ptr::null(), std::ptr::null());
    ok(unsafe { cuLibraryLoadData(&mut library, TEXT.as_ptr().cast(), none, empty, 0, none, empty, 0) });
    let (mut address, mut bytes) = (0_u64, 0);
    ok(unsafe { cuLibraryGetManaged(&mut address, &mut bytes, library, c"shared".as_ptr()) });
    assert_eq!(bytes, 4);
    let mut global = 0;
    ok(unsafe { cuLibraryGetGlobal(&mut global, &mut bytes, library, c"shared".as_ptr()) });
    assert_eq!(global, address);
    assert_eq!(unsafe { cuLibraryGetManaged(&mut global, &mut bytes, library, c"own".as_ptr()) }, 500);
    assert_eq!(unsafe { cuLibraryGetManaged(&mut global, &mut bytes, 12345, c"shared".as_ptr()) }, 400);
    // The pointer is valid until the library is unloaded.
    let shared = address as usize as *mut u32;
    assert_eq!(unsafe { shared.read_volatile() }, 40);
    unsafe { shared.write_volatile(50) };
    ok(unsafe { cuLibraryGetKernel(&mut kernel, library, c"increment".as_ptr()) });
    ok(launch(kernel, 0, &[]));
    ok(unsafe { cuCtxSynchronize() });
    assert_eq!(unsafe { shared.read_volatile() }, 51);
    let mut is_managed = 0_u8;
    ok(unsafe { cuPointerGetAttribute((&raw mut is_managed).cast(), 8, address) });
    assert_eq!(is_managed, 1);
    assert_eq!(unsafe { cuMemFree_v2(address) }, 1, "it belongs to its module");
    ok(unsafe { cuLibraryUnload(library) });
    assert_eq!(unsafe { cuPointerGetAttribute((&raw mut is_managed).cast(), 8, address) }, 1);
}
