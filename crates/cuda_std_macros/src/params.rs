//! The parameters that a kernel may have, and how each is passed.

use syn::{Error, FnArg, Ident, Pat, Result, Signature, Type, spanned::Spanned};

/// A kernel parameter.
pub struct Param {
    pub name: Ident,
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
    /// A value whose type is `cuda_std::launch::Scalar`.
    Value(Type),
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
    let kind = match &*arg.ty {
        Type::Reference(reference) if reference.mutability.is_some() => {
            return Err(Error::new(
                reference.span(),
                "all threads would hold the same `&mut`: take `*mut T` (and a length)",
            ));
        }
        Type::Reference(reference) => match &*reference.elem {
            Type::Slice(slice) => Kind::Slice((*slice.elem).clone()),
            _ => {
                return Err(Error::new(
                    reference.span(),
                    "the only reference that a kernel takes is `&[T]`: take `*const T`, or the value itself",
                ));
            }
        },
        Type::Ptr(ptr) if matches!(&*ptr.elem, Type::Slice(_)) => {
            return Err(Error::new(
                ptr.span(),
                "a raw slice has no fixed layout: take a pointer to the element and a length",
            ));
        }
        Type::Ptr(ptr) if ptr.mutability.is_some() => Kind::PtrMut((*ptr.elem).clone()),
        Type::Ptr(ptr) => Kind::Ptr((*ptr.elem).clone()),
        ty @ (Type::Path(_) | Type::Array(_) | Type::Paren(_) | Type::Group(_) | Type::Macro(_)) => {
            Kind::Value(ty.clone())
        }
        other => {
            return Err(Error::new(
                other.span(),
                "a kernel can take only `&[T]`, `*const T`, `*mut T`, numbers and arrays of numbers",
            ));
        }
    };
    Ok(Param { name: pat.ident.clone(), kind })
}
