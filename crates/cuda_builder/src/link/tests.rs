//! Links handwritten modules: LLVM's output shows that the pass is right. Needs the device toolchain, which
//! `cargo xtask test` sets up.

use super::{module::read, *};
use crate::{
    check::PtxReport,
    toolchain::{Search, discover},
};

const HEAD: &str = r#"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"#;

/// Links a module, whose only entry is `kernel`.
fn link(text: &str, arch: Arch, options: &Options) -> String {
    let toolchain = discover(&Search::default()).expect("the device toolchain");
    let folder = tempfile::tempdir().expect("folder");
    let link = Link {
        toolchain: &toolchain,
        package: "test",
        workspace: Path::new("/work"),
        arch,
        options,
        allowed: &Allowed::default(),
        work_dir: folder.path(),
    };
    let module = Module::new(&link, "test", vec!["kernel".to_owned()], &[]);
    std::fs::create_dir_all(link.module_folder("test")).expect("folder");
    let keep = module.pass(&format!("{HEAD}{text}")).expect("the pass accepts it");
    module.optimise(&keep).expect("LLVM accepts what the pass wrote");
    module.generate().expect("PTX");
    read(&module.ptx()).expect("PTX")
}

fn report(module: &str) -> PtxReport {
    PtxReport::of(&link(module, Arch::Compute75, &Options::default()))
}

/// All lanes must execute a shuffle, also those that don't use its result.
#[test]
fn a_shuffle_is_not_sunk_into_the_branch_that_uses_it() {
    let module = r#"
define ptx_kernel void @kernel(ptr %out) #0 {
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %other = call i32 asm "shfl.sync.down.b32 $0, $1, 1, 31, -1;", "=r,r"(i32 %lane) #1
  %first = icmp eq i32 %lane, 0
  br i1 %first, label %write, label %done
write:
  store i32 %other, ptr %out, align 4
  br label %done
done:
  ret void
}
attributes #0 = { nounwind }
attributes #1 = { nounwind willreturn memory(none) }
"#;
    let ptx = link(module, Arch::Compute75, &Options::default());
    let place = |text: &str| ptx.find(text).expect("it is in the PTX");
    assert!(place("shfl.sync") < place("bra"), "{ptx}");
}

/// Threads that wait at different copies of one barrier deadlock.
#[test]
fn a_barrier_between_two_branches_stays_one() {
    let module = r#"
define ptx_kernel void @kernel(ptr %out, i1 %c) #0 {
  br i1 %c, label %a, label %b
a:
  store volatile i32 1, ptr %out, align 4
  br label %b
b:
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #0
  br i1 %c, label %d, label %e
d:
  store volatile i32 2, ptr %out, align 4
  br label %e
e:
  ret void
}
attributes #0 = { nounwind }
"#;
    assert_eq!(report(module).entries[0].barriers(), 1);
}

#[test]
fn every_memory_is_accessed_in_its_own_space() {
    let module = r#"
@TILE = internal global [128 x i8] undef, section ".shared", align 4
@MORE = external global [0 x i8], section ".shared.dynamic", align 1
@MASK = internal constant [8 x i8] c"\01\00\00\00\02\00\00\00", section ".constant", align 4
define ptx_kernel void @kernel(ptr %out, i1 %c) #0 {
entry:
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %weight = load i32, ptr getelementptr inbounds (i8, ptr @MASK, i64 4), align 4
  %mine = getelementptr i32, ptr @TILE, i32 %lane
  store i32 %weight, ptr %mine, align 4
  %more = getelementptr i32, ptr @MORE, i32 %lane
  store i32 %weight, ptr %more, align 4
  br i1 %c, label %other, label %join
other:
  br label %join
join:
  %where = phi ptr [ @TILE, %entry ], [ @MORE, %other ]
  %value = load i32, ptr %where, align 4
  store i32 %value, ptr %out, align 4
  ret void
}
attributes #0 = { nounwind }
"#;
    let ptx = link(module, Arch::Compute90, &Options::default());
    assert!(ptx.contains(".extern .shared .align 16 .b8 MORE[];"), "{ptx}");
    assert!(ptx.contains(".visible .const .align 4 .b8 MASK[8]"), "{ptx}");
    let report = PtxReport::of(&ptx);
    let kernel = report.entry("kernel").expect("the entry");
    assert_eq!((kernel.generic_accesses(), kernel.local_accesses()), (0, 0), "{ptx}");
    assert_eq!((kernel.total("st.shared"), kernel.total("ld.shared"), kernel.total("ld.const")), (2, 1, 1), "{ptx}");
}

#[test]
fn float_options_reach_the_instructions() {
    let module = r#"
declare float @llvm.sqrt.f32(float)
define ptx_kernel void @kernel(ptr %out, float %a, float %b) #0 {
  %product = fmul float %a, %b
  %sum = fadd float %product, %a
  %root = call float @llvm.sqrt.f32(float %sum)
  %quotient = fdiv float %root, %b
  store float %quotient, ptr %out, align 4
  ret void
}
attributes #0 = { nounwind }
"#;
    let with = |options: Options| link(module, Arch::Compute75, &options);
    let exact = with(Options::default());
    for instruction in ["fma.rn.f32", "sqrt.rn.f32", "div.rn.f32"] {
        assert!(exact.contains(instruction), "{instruction}\n{exact}");
    }
    let fast =
        with(Options { ftz: true, fast_div: true, fast_sqrt: true, fma_contraction: false, ..Options::default() });
    for instruction in ["mul.rn.ftz.f32", "add.rn.ftz.f32", "sqrt.approx.ftz.f32", "div.approx.ftz.f32"] {
        assert!(fast.contains(instruction), "{instruction}\n{fast}");
    }
}

#[test]
fn lines_keep_the_calls_that_they_were_inlined_into_and_need_no_debug_sections() {
    let module = concat!(
        r#"
define ptx_kernel void @kernel(ptr %out, i32 %a) #0 !dbg !5 {
  %square = mul i32 %a, %a, !dbg !8
  store i32 %square, ptr %out, align 4, !dbg !9
  ret void, !dbg !9
}
attributes #0 = { nounwind }
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !1, isOptimized: true, "#,
        r#"runtimeVersion: 0, emissionKind: FullDebug)
!1 = !DIFile(filename: "k/src/lib.rs", directory: "/work")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !4)
!4 = !{}
!5 = distinct !DISubprogram(name: "kernel", scope: !1, file: !1, line: 10, type: !3, "#,
        r#"spFlags: DISPFlagDefinition, unit: !0)
!6 = distinct !DISubprogram(name: "square", linkageName: "_Rsquare", scope: !1, file: !1, line: 3, type: !3, "#,
        r#"spFlags: DISPFlagDefinition, unit: !0)
!7 = distinct !DILocation(line: 11, column: 7, scope: !5)
!8 = !DILocation(line: 4, column: 5, scope: !6, inlinedAt: !7)
!9 = !DILocation(line: 12, column: 1, scope: !5)
"#
    );
    let ptx = link(module, Arch::Compute75, &Options::default());
    assert!(ptx.contains("\t.loc\t1 4 5, function_name $L__info_string0, inlined_at 1 11 7"), "{ptx}");
    assert!(ptx.contains("\t.loc\t1 12 1"), "{ptx}");
    assert!(ptx.contains(".file\t1 \"k/src/lib.rs\""), "{ptx}");
    assert!(ptx.contains(".target sm_75\n") && !ptx.contains(".debug_info"), "{ptx}");
}
