//! The parameters that a kernel may have, and how each is passed.

use syn::{
    Error, FnArg, GenericArgument, Ident, Lifetime, Pat, PathArguments, Result, Signature, Type, spanned::Spanned,
};

/// The error for a lifetime that a kernel declares or names. A safe kernel could keep an argument of lifetime `'static`
/// in a static, beyond the launch.
pub const NO_LIFETIMES: &str = "a kernel takes no lifetimes: its arguments are valid for the launch alone";

/// A kernel parameter.
pub struct Param {
    pub name: Ident,
    /// The type as it is written.
    pub ty: Type,
    pub kind: Kind,
}

/// How a parameter is passed, with the type of the pointee or of the value.
pub enum Kind {
    /// `&[T]`, passed as address and length.
    Slice(Type),
    /// `*const T`.
    Ptr(Type),
    /// `*mut T`.
    PtrMut(Type),
    /// A view of device memory that each thread writes at its own indices, with its type of elements.
    View(View, Type),
    /// Shared memory of the block, which is not passed: types of its elements, and their number.
    Tile(Type, Box<GenericArgument>),
    /// `TensorMap`, with the generic arguments as they are written: 128 bytes that stay where the launch has put them.
    TensorMap(PathArguments),
    /// A value whose type is `cuda_std::launch::Scalar`.
    Value(Type),
}

impl Kind {
    /// Number of the entry's parameters.
    pub fn parameters(&self) -> u32 {
        match self {
            Self::Tile(..) => 0,
            Self::Slice(_) => 2,
            Self::View(view, _) => 1 + view.sizes().len() as u32,
            Self::Ptr(_) | Self::PtrMut(_) | Self::TensorMap(_) | Self::Value(_) => 1,
        }
    }
}

/// The views that kernels take, by the last segment of their type's path.
///
/// The generated code passes the type of `cuda_std`, so another type of the same name does not compile.
#[derive(Clone, Copy)]
pub enum View {
    Slice,
    Matrix,
    Volume,
}

impl View {
    const ALL: [Self; 3] = [Self::Slice, Self::Matrix, Self::Volume];

    /// Name of the type on the device.
    pub fn on_device(self) -> &'static str {
        match self {
            Self::Slice => "DisjointSlice",
            Self::Matrix => "DisjointMatrix",
            Self::Volume => "DisjointVolume",
        }
    }

    /// Name of the type on the host.
    pub fn on_host(self) -> &'static str {
        match self {
            Self::Slice => "SliceMut",
            Self::Matrix => "MatrixMut",
            Self::Volume => "VolumeMut",
        }
    }

    /// Name of the method of `Call` that appends it.
    pub fn method(self) -> &'static str {
        match self {
            Self::Slice => "slice_mut",
            Self::Matrix => "matrix_mut",
            Self::Volume => "volume_mut",
        }
    }

    /// What follows the address in the PTX.
    pub fn sizes(self) -> &'static [&'static str] {
        match self {
            Self::Slice => &["len"],
            Self::Matrix => &["rows", "columns"],
            Self::Volume => &["planes", "rows", "columns"],
        }
    }
}

/// The parameters of `signature`.
///
/// # Errors
/// The first parameter that a kernel cannot have, with advice.
pub fn of(signature: &Signature) -> Result<Vec<Param>> {
    signature.inputs.iter().map(param).collect()
}

fn param(arg: &FnArg) -> Result<Param> {
    let FnArg::Typed(arg) = arg else {
        return Err(Error::new(arg.span(), "a kernel must be a free function, without `self`"));
    };
    let Pat::Ident(pat) = &*arg.pat else {
        return Err(Error::new(
            arg.pat.span(),
            "a kernel's parameter must be a plain name: destructure it in the body",
        ));
    };
    let kind = match (&*arg.ty, view(&arg.ty)?) {
        (_, Some(kind)) => kind,
        (Type::Reference(reference), _) if reference.mutability.is_some() => {
            return Err(Error::new(
                reference.span(),
                "all threads would hold the same `&mut`: take `DisjointSlice<T>`, or `*mut T` in an `unsafe` kernel",
            ));
        }
        (Type::Reference(reference), _) => match &*reference.elem {
            Type::Slice(slice) => {
                reference.lifetime.as_ref().map_or(Ok(()), unnamed)?;
                Kind::Slice((*slice.elem).clone())
            }
            _ => {
                return Err(Error::new(
                    reference.span(),
                    "the only reference that a kernel takes is `&[T]`: take the value itself, or `*const T` in an \
                     `unsafe` kernel",
                ));
            }
        },
        (Type::Ptr(ptr), _) if matches!(&*ptr.elem, Type::Slice(_)) => {
            return Err(Error::new(
                ptr.span(),
                "a raw slice has no fixed layout: take a pointer to the element and a length",
            ));
        }
        (Type::Ptr(ptr), _) if ptr.mutability.is_some() => Kind::PtrMut((*ptr.elem).clone()),
        (Type::Ptr(ptr), _) => Kind::Ptr((*ptr.elem).clone()),
        (ty @ (Type::Path(_) | Type::Array(_) | Type::Paren(_) | Type::Group(_) | Type::Macro(_)), _) => {
            Kind::Value(ty.clone())
        }
        (other, _) => {
            return Err(Error::new(
                other.span(),
                "a kernel can take only `&[T]`, views, `*const T`, `*mut T`, numbers and arrays of numbers",
            ));
        }
    };
    Ok(Param { name: pat.ident.clone(), ty: (*arg.ty).clone(), kind })
}

/// The view or tile that a type names; `None` for other types.
fn view(ty: &Type) -> Result<Option<Kind>> {
    let Type::Path(path) = ty else { return Ok(None) };
    let Some(last) = path.path.segments.last() else { return Ok(None) };
    if last.ident == "TensorMap" {
        return Ok(Some(Kind::TensorMap(last.arguments.clone())));
    }
    let view = View::ALL.into_iter().find(|view| last.ident == view.on_device());
    if view.is_none() && last.ident != "SharedTile" {
        return Ok(None);
    }
    let mut arguments = Vec::new();
    if let PathArguments::AngleBracketed(list) = &last.arguments {
        for argument in &list.args {
            match argument {
                GenericArgument::Lifetime(lifetime) => unnamed(lifetime)?,
                other => arguments.push(other),
            }
        }
    }
    match (view, &arguments[..]) {
        (Some(view), [GenericArgument::Type(element)]) => Ok(Some(Kind::View(view, element.clone()))),
        (None, [GenericArgument::Type(element), count]) => {
            Ok(Some(Kind::Tile(element.clone(), Box::new((*count).clone()))))
        }
        (Some(_), _) => {
            let text = format!("a view has one type of elements, as in `{}<f32>`", last.ident);
            Err(Error::new(last.span(), text))
        }
        (None, _) => {
            Err(Error::new(last.span(), "a tile has a type of elements and their number, as in `SharedTile<f32, 256>`"))
        }
    }
}

/// Accepts `'_` alone.
fn unnamed(lifetime: &Lifetime) -> Result<()> {
    if lifetime.ident == "_" { Ok(()) } else { Err(Error::new(lifetime.span(), NO_LIFETIMES)) }
}
