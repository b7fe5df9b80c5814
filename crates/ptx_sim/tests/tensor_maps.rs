//! Tensor maps that a kernel makes or changes by `tensormap.replace`: a copy of a box by the map finds the elements
//! that its fields describe, and values that no field has are faults.

use ptx_sim::tensor::{Element, TensorMap};
use ptx_sim::{Checks, Config, Launch, Machine, Program, Stop};

/// Size of the tensor of 16-bit elements, and its pitch in bytes. An element is its offset in bytes, divided by 2.
const WIDTH: u64 = 100;
const HEIGHT: u64 = 20;
const PITCH: u64 = 208;
/// Size of the box, and the coordinates at which it starts.
const COLUMNS: u32 = 32;
const ROWS: u32 = 8;
const START: [i32; 2] = [80, -2];

/// The fields of a map in shared memory, from bytes that are zero. `%tensor` is the tensor's address.
const ALL: &str = "
    tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%s], 0;
    tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%s], %tensor;
    tensormap.replace.tile.rank.shared::cta.b1024.b32 [%s], 1;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%s], 0, 32;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%s], 1, %rows;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%s], 0, 100;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%s], 1, 20;
    tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%s], 0, 208;
    tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%s], 0, 1;
    tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%s], 1, 1;
    tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%s], 1;
    tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%s], 0;
    tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%s], 0;";

/// The fence between the change of a map and its use.
const FENCE: &str = "fence.proxy.tensormap::generic.acquire.gpu [%map], 128;";

/// The program: zeros in shared memory, `replace` by one thread, a copy of the map to global memory, `change` by one
/// thread, and a copy of a box by the map.
fn program(replace: &str, change: &str) -> String {
    format!(
        ".version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 map, .param .u64 tensor)
{{
    .reg .pred %p, %q; .reg .b32 %t, %x, %y, %s, %v, %bar, %tile, %rows; .reg .b64 %out, %map, %tensor, %at, %generic;
    .shared .align 1024 .b8 tile[512]; .shared .align 128 .b8 made[128]; .shared .align 8 .b64 bar;
    ld.param.b64 %out, [out]; ld.param.b64 %map, [map]; ld.param.b64 %tensor, [tensor];
    mov.u32 %t, %tid.x; mov.u32 %s, made; mov.u32 %bar, bar; mov.u32 %tile, tile; mov.u32 %rows, 8;
    setp.ne.u32 %q, %t, 0; mad.lo.u32 %v, %t, 4, %s; st.shared.b32 [%v], 0;
    bar.warp.sync 0xffffffff;
    @%q bra COPY;
    {replace}
COPY:
    bar.warp.sync 0xffffffff;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%map], [%s], 128;
    bar.warp.sync 0xffffffff;
    @%q bra WAIT;
    {change}
    {FENCE}
    mbarrier.init.shared::cta.b64 [%bar], 1;
    fence.mbarrier_init.release.cluster;
    mov.u32 %x, {}; mov.u32 %y, {};
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 512;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%map, {{%x, %y}}], [%bar];
WAIT:
    bar.sync 0;
AGAIN:
    mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p, [%bar], 0, 1000;
    @!%p bra AGAIN;
    mad.lo.u32 %v, %t, 4, %tile; mul.wide.u32 %at, %t, 4; add.u64 %out, %out, %at;
    ld.shared.b32 %x, [%v]; st.global.b32 [%out], %x;
    ld.shared.b32 %x, [%v+128]; st.global.b32 [%out+128], %x;
    ld.shared.b32 %x, [%v+256]; st.global.b32 [%out+256], %x;
    ld.shared.b32 %x, [%v+384]; st.global.b32 [%out+384], %x;
    ret;
}}
",
        START[0], START[1]
    )
}

/// Runs the program; returns the elements of the box and the bytes of the map in global memory.
fn run(text: &str) -> Result<(Vec<u16>, Vec<u8>, u64), Stop> {
    let program = Program::parse(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(program.unsupported().collect::<Vec<_>>(), []);
    let mut machine = Machine::new(Config { workers: 1, checks: Checks::DEFECTS, ..Config::default() });
    let bytes: Vec<u8> = (0..HEIGHT * PITCH / 2).flat_map(|at| (at as u16).to_le_bytes()).collect();
    let tensor = machine.alloc(bytes.len() as u64, "tensor").expect("room");
    machine.write(tensor, &bytes).expect("write");
    let (out, map) = (machine.alloc(512, "out").expect("room"), machine.alloc(128, "map").expect("room"));
    let params = [out, map, tensor].map(|address| address.to_le_bytes().to_vec());
    let launch = Launch { entry: "k", grid: [1; 3], block: [32, 1, 1], params: &params, ..Launch::default() };
    let report = machine.launch(&program, &launch)?;
    let codes: Vec<&str> = report.findings.iter().map(|found| found.diagnostic.code).collect();
    let fenced = text.contains(FENCE);
    assert_eq!(codes, if fenced { &[][..] } else { &["tensor-map-not-fenced"] }, "{:?}", report.findings.first());
    let (mut found, mut made) = (vec![0; 512], vec![0; 128]);
    machine.read(out, &mut found).expect("read");
    machine.read(map, &mut made).expect("read");
    let elements = found.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    Ok((elements, made, tensor))
}

/// The elements of a box at `START`, from row `first` of the tensor on, with `fill` outside of it.
fn expected(first: u64, height: u64, width: u64, fill: u16) -> Vec<u16> {
    let mut all = Vec::new();
    for row in 0..ROWS as i32 {
        for column in 0..COLUMNS as i32 {
            let (x, y) = (START[0] + column, START[1] + row);
            let inside = (0..width as i32).contains(&x) && (0..height as i32).contains(&y);
            all.push(if inside { ((first + y as u64) * PITCH / 2 + x as u64) as u16 } else { fill });
        }
    }
    all
}

#[test]
fn a_map_made_by_the_kernel_is_that_of_the_host() {
    let (found, made, tensor) = run(&program(ALL, "")).unwrap_or_else(|stop| panic!("{stop}"));
    let (sizes, block) = ([WIDTH, HEIGHT], [COLUMNS, ROWS]);
    let map = TensorMap::tiled(Element::U16, tensor, &sizes, &[PITCH], &block, &[1, 1], 0).expect("a map");
    assert_eq!(TensorMap::decode(&made.try_into().expect("128 bytes")), Some(map));
    assert_eq!(found, expected(0, HEIGHT, WIDTH, 0));
}

#[test]
fn fields_in_global_memory_are_replaced() {
    let replace = |field: &str, space: &str, map: &str, value: &str| {
        format!("tensormap.replace.tile.{field}{space}.b1024.{value} [{map}], ")
    };
    let (global, generic) = (".global", "");
    // Ten rows further down, with a sum in a register; a narrower tensor; NaN outside of it.
    let change = format!(
        "add.u64 %tensor, %tensor, 2080; cvta.global.u64 %generic, %map;
        {} %tensor; {} 0, 90; {} 1, 10; {} 6; {} 1;",
        replace("global_address", global, "%map", "b64"),
        replace("global_dim", generic, "%generic", "b32"),
        replace("global_dim", global, "%map", "b32"),
        replace("elemtype", global, "%map", "b32"),
        replace("fill_mode", global, "%map", "b32"),
    );
    let (found, _, _) = run(&program(ALL, &change)).unwrap_or_else(|stop| panic!("{stop}"));
    assert_eq!(found, expected(10, 10, 90, 0x7fff));
}

#[test]
fn wrong_values_are_faults_with_advice() {
    let fault = |replace: &str, change: &str| {
        let stop = run(&program(replace, change)).err().unwrap_or_else(|| panic!("no fault: {replace} {change}"));
        (stop.code(), stop.to_string())
    };
    for (instruction, words) in [
        ("tensormap.replace.tile.rank.global.b1024.b32 [%map], 5;", "the number of dimensions less one, 0 to 4, not 5"),
        ("tensormap.replace.tile.box_dim.global.b1024.b32 [%map], 1, 257;", "1 to 256 elements, not 257"),
        ("tensormap.replace.tile.global_dim.global.b1024.b32 [%map], 1, 0;", "1 to 2^32 - 1 elements, not 0"),
        ("tensormap.replace.tile.global_stride.global.b1024.b64 [%map], 0, 200;", "a multiple of 16 bytes below 2^40"),
        ("tensormap.replace.tile.global_stride.global.b1024.b64 [%map], 4, 208;", "the ordinals 0 to 3"),
        ("tensormap.replace.tile.element_stride.global.b1024.b32 [%map], 0, 9;", "1 to 8 elements, not 9"),
        (
            "add.u64 %at, %tensor, 8; tensormap.replace.tile.global_address.global.b1024.b64 [%map], %at;",
            "multiple of 16",
        ),
        ("tensormap.replace.tile.fill_mode.global.b1024.b32 [%map+32], 0;", "is not a multiple of 64"),
        ("tensormap.replace.tile.fill_mode.global.b1024.b32 [%tensor], 0;", "are no tensor map of the simulator"),
        ("tensormap.replace.tile.fill_mode.global.b1024.b32 [%tensor], 0;", "or from 128 zero bytes"),
        // Fields that do not fit each other are found where the map is used.
        ("tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%map], 1;", "more than the swizzle's 32"),
        ("tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%map], 1;", "so that they fit each other"),
        ("tensormap.replace.tile.rank.global.b1024.b32 [%map], 2;", "is not valid"),
        ("tensormap.replace.tile.rank.global.b1024.b32 [%map], 0;", "2 coordinates by a tensor map of 1 dimensions"),
    ] {
        let (code, text) = fault(ALL, instruction);
        assert_eq!(code, "tensor-map", "{text}");
        assert!(text.contains(words), "{instruction}: {text}");
    }
    // The map in shared memory was never made.
    let (code, text) = fault("", "");
    assert_eq!(code, "tensor-map", "{text}");
    let (code, _) = fault(ALL, "add.u64 %at, %map, 64; tensormap.replace.tile.fill_mode.global.b1024.b32 [%at], 0;");
    assert_eq!(code, "out-of-bounds");
    let text = program(ALL, "").replace("    tensormap.cp", "    @%q tensormap.cp");
    assert_eq!(run(&text).expect_err("a fault").code(), "not-aligned");
}

#[test]
fn a_copy_needs_a_fence_after_the_last_change() {
    let text = program(ALL, "");
    run(&text.replace(FENCE, "")).unwrap_or_else(|stop| panic!("{stop}"));
    run(&text.replace(FENCE, "fence.proxy.tensormap::generic.release.gpu;")).unwrap_or_else(|stop| panic!("{stop}"));
    // The fence for another address, and one before the change.
    let other = "add.u64 %at, %map, 128; fence.proxy.tensormap::generic.acquire.gpu [%at], 128;";
    run(&text.replace(FENCE, other)).unwrap_or_else(|stop| panic!("{stop}"));
    let early = "fence.proxy.tensormap::generic.acquire.gpu [%map], 0x80;
        tensormap.replace.tile.fill_mode.global.b1024.b32 [%map], 0;";
    run(&text.replace(FENCE, early)).unwrap_or_else(|stop| panic!("{stop}"));
}
