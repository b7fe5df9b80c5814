//! PTX snippets in the styles of LLVM and nvcc, and wrong texts.

use crate::program::{
    Access, BarrierKind, Callee, Collective, FrameCopy, Function, Kind, Op, Order, Preset, Program, Scope, Space,
    Special, Symbol,
};
use crate::registers::NO_SLOT;

const HEAD: &str = ".version 7.8\n.target sm_90, debug\n.address_size 64\n";

fn module(text: &str) -> Program {
    match Program::parse(&format!("{HEAD}{text}")) {
        Ok(program) => program,
        Err(error) => panic!("{error}"),
    }
}

/// Parses one entry with registers of all kinds and these statements.
fn body(statements: &str) -> (Program, Function) {
    let program = module(&format!(
        ".visible .entry k(.param .u64 .ptr .global .align 1 k_param_0, .param .align 16 .b8 k_param_1[16], .param \
        .u8 c)\n {{\n.reg .pred %p<9>;\n.reg .b16 %rs<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .f32 %f<9>;\n\
         .reg .f64 %fd<9>;\n.reg .b128 %rq<3>;\n{statements}\nret;\n}}\n"
    ));
    let function = program.function("k").cloned();
    (program, function.expect("the entry is there"))
}

fn op(statement: &str) -> Op {
    body(statement).1.code[0].op.clone()
}

fn access(statement: &str) -> Access {
    match op(statement) {
        Op::Load(access) | Op::Store(access) => access,
        other => panic!("{statement}: {other:?}"),
    }
}

/// Returns line, found and expected of a text's error.
fn error(text: &str) -> (u32, String) {
    match Program::parse(&format!("{HEAD}{text}")) {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => (error.line, error.to_string()),
    }
}

#[test]
fn entry_parameters() {
    let (_, function) = body("");
    let places: Vec<_> = function.params.iter().map(|p| (p.offset, p.size, p.align, p.pointer)).collect();
    assert_eq!(places, [(0, 8, 8, true), (16, 16, 16, false), (32, 1, 1, false)]);
    assert_eq!(function.kind, Kind::Entry);
    assert_eq!(function.param_bytes(), 33);
}

#[test]
fn directives_of_a_function() {
    let program = module(
        ".entry k() .maxntid 32, 4, 1 .maxnreg 40 .explicitcluster .reqnctapercluster 2, 1 .reqntid 64 { ret; }",
    );
    let function = &program.functions[0];
    assert_eq!(function.required_cluster, Some([2, 1, 1]));
    let limits = (function.required_block, function.max_threads, function.max_registers);
    assert_eq!(limits, (Some([64, 1, 1]), Some(128), Some(40)));
}

#[test]
fn loads_and_stores() {
    let load = access("ld.param.b64 %rd1, [k_param_0];");
    assert_eq!((load.space, load.bytes, load.wide, load.order), (Space::Param, 8, true, Order::Weak));
    let load = access("ld.global.nc.v4.b32 {%r1, %r2, _, %r3}, [%rd1+-8];");
    assert_eq!((load.registers.len(), load.registers[2], load.address.offset), (4, NO_SLOT, -8));
    assert!(load.non_coherent);
    let load = access("ld.acquire.gpu.global.b32 %r1, [%rd1];");
    assert_eq!((load.order, load.scope), (Order::Acquire, Scope::Gpu));
    let load = access("ld.s8 %r1, [%rd1];");
    assert_eq!((load.space, load.sign_extend, load.bytes), (Space::Generic, 32, 1));
    let load = access("ld.u8 %rd1, [%rd2];");
    assert_eq!((load.wide, load.sign_extend, load.bytes), (true, 0, 1));
    let load = access("ld.shared.f32 %f1, [%r1+4];");
    assert!(load.address.narrow && !load.wide);
    let load = access("ld.global.v2.b64 {%rd1, %rd2}, [%rd3];");
    assert_eq!((load.registers.len(), load.bytes), (2, 8));
    let load = access("ld.global.b128 %rq1, [%rd1];");
    assert_eq!((load.bytes, load.wide), (16, true));
    let store = access("st.volatile.shared::cta.b8 [%rd1], %rs1;");
    assert_eq!((store.space, store.order, store.scope), (Space::Shared, Order::Volatile, Scope::Sys));
    let (_, function) = body("st.global.v2.b32 [%rd1], {%r1, 0x7771U};");
    assert!(function.preset.iter().any(|p| matches!(p, Preset::Const32(_, 0x7771))));
}

#[test]
fn constants_share_rows() {
    let (_, function) = body(
        "add.s32 %r1, %r2, 7;\nadd.s32 %r3, %r1, 0x7;\nadd.s32 %r3, %r1, 07;\nadd.s32 %r3, %r1, 0b111;\n\
         add.f32 %f1, %f2, 0f3F800000;\nadd.f64 %fd1, %fd2, 0d3FF0000000000000;\nadd.f32 %f1, %f1, 1.0;\n\
         add.s64 %rd1, %rd2, -1;\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.x;\nmov.pred %p1, 0;\nmov.b16 %rs1, -1;",
    );
    let constants = function.preset.iter().map(|p| match *p {
        Preset::Const32(_, bits) => u64::from(bits),
        Preset::Const64(_, bits) => bits,
        Preset::ConstPred(_, bit) => u64::from(bit),
        Preset::Special32(_, Special::Tid(0)) => 1000,
        other => panic!("{other:?}"),
    });
    let constants: Vec<u64> = constants.collect();
    assert_eq!(constants, [7, 0x3f80_0000, 0x3ff0_0000_0000_0000, u64::MAX, 1000, 0, 0xffff]);
}

#[test]
fn addresses() {
    let program = module(
        ".extern .shared .align 16 .b8 dynamic[];\n.global .align 4 .u32 table[4] = {1, 2};\n\
         .global .u64 pointers[3] = {table+4, generic(table)+8, f};\n.const .f32 c = 0f3F800000;\n\
         .func f() { ret; }\n\
         .entry k(.param .u64 p) { .reg .b64 %rd<9>; .reg .b32 %r<9>; .shared .align 4 .b8 inside[64];\n\
         .local .align 8 .b8 depot[40]; .reg .b64 %SP; mov.b64 %SP, depot; cvta.local.u64 %SP, %SP;\n\
         mov.b64 %rd1, p; mov.b64 %rd2, inside+8; mov.u32 %r1, dynamic; ld.global.b32 %r2, [table+4]; mov.b64 %rd3, \
         f;\n st.local.b32 [depot+36], %r2; ret; }",
    );
    let [dynamic, table, pointers, c, inside] = program.variables.as_slice() else { panic!("{:?}", program.variables) };
    assert!(dynamic.dynamic && dynamic.size == 0 && dynamic.align == 16);
    assert_eq!((table.size, table.init.as_slice()), (16, &[1, 0, 0, 0, 2, 0, 0, 0][..]));
    assert_eq!(pointers.relocations.len(), 3);
    assert_eq!((pointers.relocations[1].addend, pointers.relocations[1].generic), (8, true));
    assert_eq!(pointers.relocations[2].target, Symbol::Function(0));
    assert_eq!(c.init, [0, 0, 0x80, 0x3f]);
    assert_eq!((inside.space, inside.size), (Space::Shared, 64));
    let function = program.function("k").expect("declared above");
    assert_eq!(function.frame_bytes, 40);
    let has = |preset| assert!(function.preset.iter().any(|p| same(p, preset)), "{preset:?}");
    has(Preset::Address64(0, Symbol::Frame(0), 0));
    has(Preset::Address64(0, Symbol::KernelParam(0), 0));
    has(Preset::Address64(0, Symbol::Variable(4), 8));
    has(Preset::Address32(0, Symbol::Variable(0), 0));
    has(Preset::Address64(0, Symbol::Function(0), 0));
}

fn same(a: &Preset, b: Preset) -> bool {
    match (*a, b) {
        (Preset::Address64(_, s, x), Preset::Address64(_, t, y)) => (s, x) == (t, y),
        (Preset::Address32(_, s, x), Preset::Address32(_, t, y)) => (s, x) == (t, y),
        _ => false,
    }
}

#[test]
fn calls() {
    let program = module(
        ".extern .func (.param .b32 func_retval0) vprintf(.param .b64 vprintf_param_0, .param .b64 vprintf_param_1);\n\
         .func (.param .b32 func_retval0) f(.param .b64 f_param_0, .param .b32 f_param_1);\n\
         .entry k() { .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<2>;\n\
         { // callseq 0, 0\n.param .b64 param0; .param .b32 param1; .param .b32 retval0;\n\
         st.param.b64 [param0], %rd1; st.param.b32 [param1], 5;\n\
         call.uni (retval0), f, (param0, param1);\nld.param.b32 %r1, [retval0];\n} // callseq 0\n\
         { .param .align 8 .b8 param0[16]; .param .b32 retval0;\n\
         prototype_1 : .callprototype (.param .b32 _) _ (.param .align 8 .b8 _[16]) .noreturn;\n\
         @%p1 call (retval0), %rd2, (param0), prototype_1; }\nret; }\n\
         .func (.param .b32 func_retval0) f(.param .b64 f_param_0, .param .b32 f_param_1)\n\
         { .reg .b64 %rd<3>; .reg .b32 %r<3>; ld.param.b64 %rd1, [f_param_0]; ld.param.b32 %r1, [f_param_1+0];\n\
         st.param.b32 [func_retval0], %r1; ret; }",
    );
    assert_eq!(program.functions.iter().map(|f| f.kind).collect::<Vec<_>>(), [Kind::Extern, Kind::Device, Kind::Entry]);
    let f = program.function("f").expect("declared");
    assert_eq!((f.frame_bytes, f.params[1].offset, f.returns[0].offset), (16, 8, 12));
    assert!(matches!(&f.code[0].op, Op::Load(load) if load.space == Space::Frame));
    let k = program.function("k").expect("declared");
    let calls = k.code.iter().filter_map(|i| {
        if let Op::Call { callee, params, returns } = &i.op { Some((callee, params, returns)) } else { None }
    });
    let calls: Vec<_> = calls.collect();
    assert!(matches!(calls[0].0, Callee::Direct(1)));
    assert_eq!(calls[0].1[1], FrameCopy { caller: 8, index: 1, size: 4 });
    assert_eq!(calls[0].2[0], FrameCopy { caller: 12, index: 0, size: 4 });
    assert!(matches!(calls[1].0, Callee::Indirect(2)));
    assert_eq!(k.frame_bytes, 20);
}

#[test]
fn branches_and_scopes() {
    let (_, function) = body(
        "@!%p1 bra $L1;\n{ .reg .b32 %r1; .reg .b32 a, b; again: add.s32 %r1, a, b; bra again; }\n\
         { again: bra.uni again; }\n$L1: brx.idx %r2, $L_brx_0;\n$L_brx_0: .branchtargets $L1, $L2;\n$L2:",
    );
    let targets = function.code.iter().filter_map(|inst| match &inst.op {
        Op::Branch { target } => Some(vec![*target]),
        Op::BranchIndexed { targets, .. } => Some(targets.clone()),
        _ => None,
    });
    let targets: Vec<_> = targets.collect();
    assert_eq!(targets, [vec![4], vec![1], vec![3], vec![4, 5]]);
    let guard = function.code[0].guard.expect("it has one");
    assert!(guard.negated && guard.pred == 1);
}

#[test]
fn a_body_without_return_gets_one() {
    let program = module(".entry k() { .reg .pred %p<2>; @%p1 bra $E; bra.uni $E; $E: }");
    assert!(matches!(program.functions[0].code.last().map(|i| &i.op), Some(Op::Return)));
}

#[test]
fn packing_and_timers() {
    assert!(matches!(op("mov.b64 {%r1, _}, %rd1;"), Op::Pure(_, args) if args.d[1] == NO_SLOT));
    assert!(matches!(op("mov.b64 %rd1, {%r1, 0};"), Op::Pure(..)));
    assert!(matches!(op("mov.b32 %r1, {%rs1, %rs2};"), Op::Pure(..)));
    assert!(matches!(op("mov.b128 %rq1, {%rd1, %rd2};"), Op::Pure(..)));
    assert!(matches!(op("mov.u64 %rd1, %clock64;"), Op::ReadTimer { wide: true, .. }));
    assert!(matches!(op("mov.u32 %r1, %clock;"), Op::ReadTimer { wide: false, .. }));
}

#[test]
fn warp_and_block() {
    let shuffle = op("shfl.sync.down.b32 %r1|%p1, %r2, 16, 31, -1;");
    assert!(matches!(shuffle, Op::Collective { kind: Collective::Shuffle(_), args, .. } if args.d[1] == 1));
    assert!(
        matches!(op("vote.sync.any.pred %p1, !%p2, 0xffffffff;"), Op::Collective { args, .. } if args.negated == 1)
    );
    assert!(matches!(op("vote.sync.ballot.b32 %r1, %p2, %r3;"), Op::Collective { kind: Collective::Vote, .. }));
    assert!(matches!(op("match.all.sync.b64 %r1|%p1, %rd1, -1;"), Op::Collective { kind: Collective::Match, .. }));
    assert!(matches!(op("elect.sync _|%p1, -1;"), Op::Collective { args, .. } if args.d[0] == NO_SLOT));
    assert!(matches!(op("bar.warp.sync -1;"), Op::Collective { kind: Collective::Sync, .. }));
    assert!(matches!(op("activemask.b32 %r1;"), Op::Pure(..)));
    assert!(matches!(op("bar.sync 0;"), Op::Barrier { aligned: true, count: None, kind: BarrierKind::Sync, .. }));
    assert!(matches!(op("barrier.sync %r1, 64;"), Op::Barrier { aligned: false, count: Some(_), .. }));
    let reduce = op("barrier.cta.red.popc.aligned.u32 %r1, 0, %p1;");
    assert!(matches!(reduce, Op::Barrier { aligned: true, kind: BarrierKind::Reduce { .. }, .. }), "{reduce:?}");
    let reduce = op("bar.red.and.pred %p1, 1, 64, !%p2;");
    assert!(matches!(reduce, Op::Barrier { count: Some(_), kind: BarrierKind::Reduce { negated: true, .. }, .. }));
}

#[test]
fn atomics() {
    let Op::Atomic(add) = op("atom.global.add.u32 %r1, [%rd1+4], 1;") else { panic!() };
    assert_eq!((add.space, add.order, add.scope, add.bytes), (Space::Global, Order::Relaxed, Scope::Gpu, 4));
    let Op::Atomic(cas) = op("atom.acq_rel.sys.shared.cas.b64 %rd1, [%rd2], %rd3, %rd4;") else { panic!() };
    assert_eq!((cas.order, cas.scope, cas.b, cas.c), (Order::AcqRel, Scope::Sys, 3, 4));
    let Op::Atomic(red) = op("red.relaxed.cta.shared.add.f32 [%r1], %f1;") else { panic!() };
    assert!(red.destination.is_none() && red.address.narrow);
    let Op::Atomic(thrown) = op("atom.global.exch.b32 _, [%rd1], %r1;") else { panic!() };
    assert_eq!(thrown.destination, Some(NO_SLOT));
    assert!(matches!(op("atom.global.add.noftz.f16x2 %r1, [%rd1], %r2;"), Op::Atomic(_)));
}

#[test]
fn carries_share_a_flag() {
    let (_, function) = body("add.cc.s64 %rd1, %rd2, %rd3;\naddc.cc.s64 %rd1, %rd2, %rd3;\naddc.s64 %rd4, %rd5, 0;");
    let args = function.code[..3].iter().map(|inst| match inst.op {
        Op::Pure(_, args) => args,
        ref other => panic!("{other:?}"),
    });
    let args: Vec<_> = args.collect();
    assert_eq!((args[0].d[1], args[1].s[2], args[1].d[1], args[2].s[2]), (9, 9, 9, 9));
}

#[test]
fn unknown_instructions_are_kept() {
    for text in [
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r1, %r2}, %rd1, %rd2, 1, 1, 1;",
        "add.strange.s32 %r1, %r2, %r3;",
        "add.s32 %r1, %r2;",
        "add.s32 %rd1, %r2, %r3;",
        "tex.cube.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2, %f3, %f4}];",
        "atom.global.nand.b32 %r1, [%rd1], %r2;",
        "shfl.down.b32 %r1, %r2, 1, 31;",
        "mov.u32 %r1, %pm0;",
    ] {
        assert!(matches!(op(text), Op::Unsupported(_)), "{text}");
    }
    let Op::Unsupported(message) = op("strange.op   %r1,\t%r2;") else { panic!() };
    assert_eq!(message, "`strange.op %r1, %r2`: this instruction is not supported");
}

/// ptxas 13.5 accepts and rejects the same forms.
#[test]
fn forms_of_discard() {
    for text in ["discard.global.L2 [%rd1], 128;", "discard.L2.global [%rd1+128], 0x80;", "discard.L2 [variable], 128;"]
    {
        let (_, function) = body(&format!(".global .align 128 .b8 variable[128];\n{text}"));
        assert!(matches!(function.code[0].op, Op::Discard { bytes: 128, .. }), "{text}");
    }
    for text in [
        "discard.global.L2 [%rd1], 64;",
        "discard.global.L2 [%rd1];",
        "discard.global.L2 [%rd1], %r1;",
        "discard.global.L2 [%rd1], 128, 128;",
        "discard.global.L2 %rd1, 128;",
        "discard.global.L2 [%r1], 128;",
        "discard.global.L2 [4096], 128;",
        "discard.L2 [k_param_0], 128;",
        "discard.global [%rd1], 128;",
        "discard.global.L1 [%rd1], 128;",
        "discard.shared.L2 [%rd1], 128;",
        "discard.weak.global.L2 [%rd1], 128;",
        "discard.global.global.L2 [%rd1], 128;",
    ] {
        assert!(matches!(op(text), Op::Unsupported(_)), "{text}");
    }
}

#[test]
fn places_and_their_chains() {
    let program = module(
        ".entry k() {\n.loc 1 3 5 // a comment @[ not.rs:1:1 ]\nbar.sync 0;\n\
         .loc 1 20 17, function_name $L__info_string0, inlined_at 1 3 5\n\
         .loc 2 35 13, function_name .debug_str+4, inlined_at 1 20 17\nbar.sync 0;\nret;\n}\n\
         .file 1 \"a.rs\"\n.file 2 \"dir\" \"b.rs\"\n\
         .section .debug_str { $L__info_string0:\n.b8 97 // string offset=0\n.b8 98\n.b8 99,0,100\n.b8 0 }\n\
         .section .debug_info { .b32 .debug_abbrev\n.b64 $L__x\n}\n.section .debug_macinfo { }",
    );
    let code = &program.functions[0].code;
    let place = |i: Option<u32>| i.map(|i| program.locations[i as usize].clone()).expect("has a place");
    let inner = place(code[1].location);
    let middle = place(inner.inlined_at);
    let outer = place(middle.inlined_at);
    assert_eq!((inner.file, inner.line, inner.function.as_deref()), (1, 35, Some("d")));
    assert_eq!((middle.line, middle.function.as_deref()), (20, Some("abc")));
    assert_eq!((outer.line, outer.column, outer.inlined_at), (3, 5, None));
    assert_eq!(program.files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["a.rs", "dir/b.rs"]);
    assert_eq!(program.describe(code[1].location), "dir/b.rs:35:13");
}

#[test]
fn used_bytes() {
    let (_, function) =
        body(".pragma \"used_bytes_mask 0xfff\";\nld.global.v4.b32 {%r1, %r2, %r3, _}, [%rd1];\nld.b32 %r1, [%rd1];");
    let used = function.code[..2].iter().map(|inst| match &inst.op {
        Op::Load(load) => load.used_bytes,
        other => panic!("{other:?}"),
    });
    assert_eq!(used.collect::<Vec<_>>(), [0xfff, u64::MAX]);
}

#[test]
fn wide_registers_in_conversions() {
    let texts = [
        "cvt.s64.s8 %rd1, %rd2;",
        "cvt.u32.u8 %r1, %r2;",
        "cvt.u16.u64 %rs1, %rd1;",
        "cvt.s8.s32 %r1, %r2;",
        "cvt.sat.u8.s32 %r1, %r2;",
        "cvt.s16.s64 %rd1, %rd2;",
        "cvt.rni.sat.s8.f32 %r1, %r2;",
        "cvt.rzi.u16.f64 %r1, %rd2;",
        "cvt.rzi.s32.f32 %rd1, %r2;",
        "cvt.rzi.s8.f16 %r1, %rs2;",
    ];
    for text in texts {
        assert!(matches!(op(text), Op::Pure(..)), "{text}: {:?}", op(text));
    }
}

#[test]
fn errors_name_their_line() {
    let cases = [
        (".entry k( {", 4),
        (".entry k() {\nbra nowhere;\n}", 5),
        (".entry k() {\n.reg .b32 %r<2>;\nadd.s32 %r1, %r1, %r7;\n}", 6),
        (".entry k() {\n.reg .b32 %r<2>;\nadd.s32 %r1, %r1 %r1;\n}", 6),
        (".entry k() {\nret", 5),
        (".entry k() {\n/* never closed", 5),
        (".global .u32 x = {1, 2};", 4),
        (".global .strange x;", 4),
        (".global .align 3 .u32 x;", 4),
        (".entry k() {\n.reg .b32 %r<4000000000>;\n}", 5),
        (".entry k() {\na: a: ret;\n}", 5),
        (".entry k() {\n@%p1 ret;\n}", 5),
        (".entry k() { ret; }\n.entry k() { ret; }", 5),
        ("garbage", 4),
        (".file 1 \"never closed", 4),
        (".global .u64 x = {missing};", 4),
    ];
    for (text, line) in cases {
        let (found, message) = error(text);
        assert_eq!(found, line, "{text}: {message}");
    }
    let without_version = Program::parse("").map(|_| ()).map_err(|e| e.line);
    assert_eq!(without_version, Err(1));
}

/// Every prefix of a text, and the text with any byte replaced, is parsed or rejected without a panic.
#[test]
fn damaged_texts_never_panic() {
    let text = format!(
        "{HEAD}.global .u64 t[2] = {{t+8, 1}};\n.entry k(.param .u64 p) {{ .reg .b32 %r<3>; .reg .pred %p<2>;\n\
         .loc 1 2 3, function_name $L, inlined_at 1 1 1\n@!%p1 bra $L; ld.v2.b32 {{%r1, _}}, [p+-4]; $L: \
         call (x), f, (y); mov.f32 %r1, 0f3F800000; }}\n.section .debug_str {{ $L: .b8 1 }}\n.file 1 \"a\""
    );
    for end in 0..text.len() {
        let _ = Program::parse(&text[..end]);
    }
    for at in 0..text.len() {
        for byte in *b"{}[]();,.:<>|!@%\"\\-+0fx\n/*_" {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = byte;
            let _ = String::from_utf8(bytes).map(|text| Program::parse(&text));
        }
    }
}
