//! The family's own options.

use crate::kernels::settings::{Choice, Flag, Number, Range, Setting};

pub(super) const DIMS: Setting<Choice> = Setting {
    name: "dims",
    help: "dimensions; one axis more is the channels. auto: as many as axes, but of u8 a last of three that is 3 or 4 \
        is colour",
    generated: false,
    kind: Choice(&["auto", "1", "2", "3"]),
};

pub(super) const FILTER: Setting<Choice> = Setting {
    name: "filter",
    help: "weighted mean of the nearest texels, or the texel that contains the sample",
    generated: false,
    kind: Choice(&["linear", "point"]),
};

pub(super) const ADDRESS: Setting<Choice> = Setting {
    name: "address",
    help: "values outside: the nearest texel, the array repeated or mirrored (both with normalised coordinates), or 0",
    generated: false,
    kind: Choice(&["clamp", "wrap", "mirror", "border"]),
};

pub(super) const NORMALISED: Setting<Flag> =
    Setting { name: "normalised", help: "coordinates from 0 to 1", generated: false, kind: Flag };

pub(super) const READ: Setting<Choice> = Setting {
    name: "read",
    help: "u8 as whole numbers, or as numbers from 0 to 1",
    generated: false,
    kind: Choice(&["element", "normalised"]),
};

pub(super) const SCALE: Setting<Number> = Setting {
    name: "scale",
    help: "samples along an axis, in per cent of the texels there",
    generated: false,
    kind: Number { default: 100, min: 1, max: 10_000 },
};

pub(super) const WINDOW: Setting<Range> = Setting {
    name: "window",
    help: "part of each axis that is sampled; an axis goes from 0 to 1",
    generated: false,
    kind: Range { default: (0.0, 1.0) },
};

pub(super) const TURN: Setting<Number> = Setting {
    name: "turn",
    help: "angle in degrees by which the samples are turned, from x to y",
    generated: false,
    kind: Number { default: 0, min: 0, max: 359 },
};

/// All of them, in the order of the help.
pub(super) const SETTINGS: &[Setting] = &[
    DIMS.listed(),
    FILTER.listed(),
    ADDRESS.listed(),
    NORMALISED.listed(),
    READ.listed(),
    SCALE.listed(),
    WINDOW.listed(),
    TURN.listed(),
];
