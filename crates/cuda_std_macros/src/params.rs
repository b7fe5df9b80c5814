//! What a kernel may take, and how it is passed.

use syn::{Error, FnArg, Ident, Pat, Result, Signature, Type, spanned::Spanned};

/// A kernel parameter.
pub struct Param {
    pub name: Ident,
    pub kind: Kind,
}

/// How a parameter is passed. Holds the pointee's type, or the value's.
pub enum Kind {
    /// `&[T]`: address and length.
    Slice(Type),
    /// `*const T`.
    Ptr(Type),
    /// `*mut T`.
    PtrMut(Type),
    /// By value; the type is `cuda_std::launch::Scalar`.
    Value(Type),
}

/// The parameters of `signature`, or what is wrong with the first bad one.
pub fn of(signature: &Signature) -> Result<Vec<Param>> {
    signature.inputs.iter().map(param).collect()
}

fn param(arg: &FnArg) -> Result<Param> {
    let FnArg::Typed(arg) = arg else {
        return Err(Error::new(arg.span(), "a kernel is a free function: it has no `self`"));
    };
    let Pat::Ident(pat) = &*arg.pat else {
        return Err(Error::new(arg.pat.span(), "a kernel's parameter is a plain name: take it apart in the body"));
    };
    let kind = match &*arg.ty {
        Type::Reference(reference) if reference.mutability.is_some() => {
            return Err(Error::new(
                reference.span(),
                "every thread of the launch would hold this `&mut` at once: take `*mut T` (and a length)",
            ));
        }
        Type::Reference(reference) => match &*reference.elem {
            Type::Slice(slice) => Kind::Slice((*slice.elem).clone()),
            _ => {
                return Err(Error::new(
                    reference.span(),
                    "only `&[T]` is passed by reference: take `*const T`, or the value itself",
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
                "a kernel takes `&[T]`, `*const T`, `*mut T`, numbers and arrays of numbers",
            ));
        }
    };
    Ok(Param { name: pat.ident.clone(), kind })
}
