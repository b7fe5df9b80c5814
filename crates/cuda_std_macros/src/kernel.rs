//! `#[kernel]`: checks the function's signature, then expands it for device and host.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, ItemFn, Result, ReturnType, ext::IdentExt, spanned::Spanned};

use crate::params::{self, Kind, Param};
use crate::{bounds::Arguments, expand};

/// Expands `#[kernel]` on a function, for the instances of the lists, with its limits.
///
/// # Errors
/// Fails if the signature is not that of a kernel, or the lists do not match its generic parameters.
pub fn expand(arguments: Arguments, function: ItemFn) -> Result<TokenStream> {
    check_signature(&function)?;
    arguments.lists.check(&function.sig.generics)?;
    let params = params::of(&function.sig)?;
    check_safety(&function, &params)?;
    let device = expand::device(&arguments, &function, &params)?;
    let host = expand::host(&arguments.lists, &function, &params)?;
    Ok(quote!(#device #host))
}

fn check_signature(function: &ItemFn) -> Result<()> {
    let sig = &function.sig;
    if !sig.ident.unraw().to_string().is_ascii() {
        return Err(Error::new(
            sig.ident.span(),
            "a kernel's name becomes that of the entry, and PTX has names of ASCII letters, digits and `_` only",
        ));
    }
    if let ReturnType::Type(_, ty) = &sig.output {
        return Err(Error::new(
            ty.span(),
            "a kernel returns nothing: write the results to a `DisjointSlice<T>` or through a `*mut T`",
        ));
    }
    if let Some(constness) = &sig.constness {
        return Err(Error::new(constness.span, "a kernel can't be `const`: it runs on the device"));
    }
    if let Some(asyncness) = &sig.asyncness {
        return Err(Error::new(asyncness.span, "a kernel can't be `async`: launches are asynchronous already"));
    }
    if let Some(abi) = &sig.abi {
        return Err(Error::new(abi.span(), "`#[kernel]` chooses the ABI: remove `extern`"));
    }
    if let Some(variadic) = &sig.variadic {
        return Err(Error::new(variadic.span(), "a kernel can't be variadic"));
    }
    Ok(())
}

/// Checks that a safe kernel takes no raw pointer.
fn check_safety(function: &ItemFn, params: &[Param]) -> Result<()> {
    let raw = params.iter().find(|param| matches!(param.kind, Kind::Ptr(_) | Kind::PtrMut(_)));
    match (function.sig.unsafety, raw) {
        (None, Some(param)) => Err(Error::new(
            param.ty.span(),
            "a kernel with a raw pointer must be an `unsafe fn`: take `&[T]` for an input and `DisjointSlice<T>` for \
             an output, or write `unsafe fn` and its contract",
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens;

    fn expanded(lists: TokenStream, function: TokenStream) -> Result<String> {
        let text = expand(syn::parse2(lists)?, syn::parse2(function)?)?.into_token_stream().to_string();
        syn::parse_str::<syn::File>(&text).map_err(|e| Error::new(e.span(), format!("{e} in {text}")))?;
        Ok(text)
    }

    fn error(lists: TokenStream, function: TokenStream) -> String {
        expanded(lists, function).expect_err("must be refused").to_string()
    }

    #[test]
    fn a_plain_kernel_is_exported_under_its_name() {
        let out = expanded(
            quote!(),
            quote!(
                pub unsafe fn add(a: &[f32], out: *mut f32, n: u32) {}
            ),
        )
        .expect("valid");
        assert!(out.contains(r#"export_name = "add""#), "{out}");
        assert_eq!(out.matches("extern \"ptx-kernel\"").count(), 1, "{out}");
        assert!(out.contains("a__len : usize"), "{out}");
    }

    #[test]
    fn a_view_is_its_address_and_its_sizes_and_a_tile_is_not_passed() {
        let out = expanded(
            quote!(),
            quote!(
                pub fn k(a: DisjointSlice<f32>, mut b: view::DisjointVolume<'_, u8>, tile: SharedTile<f32, 64>) {}
            ),
        )
        .expect("valid");
        let entry = "fn __entry (a : & 'static mut [f32 ; 0] , a__len : usize , b : & 'static mut [u8 ; 0] , \
                     b__planes : usize , b__rows : usize , b__columns : usize)";
        assert!(out.contains(entry), "{out}");
        assert!(out.contains("b : :: cuda_std :: launch :: VolumeMut < 'launch , u8 >) ->"), "{out}");
        assert!(out.contains("SafeCall < 'launch >"), "{out}");
    }

    #[test]
    fn a_tensor_map_stays_where_the_launch_has_put_it() {
        let out = expanded(
            quote!(),
            quote!(
                pub unsafe fn k(x: &[f32], tile: SharedTile<f32, 4>, map: memory::TensorMap, of: TensorMap<F16>) {}
            ),
        )
        .expect("valid");
        assert!(out.contains("map : [u64 ; 16]"), "{out}");
        assert!(out.contains("__tensor_map (2u32)"), "{out}");
        assert!(out.contains("map : :: cuda_std :: memory :: TensorMap ,"), "{out}");
        assert!(out.contains("of : :: cuda_std :: memory :: TensorMap < F16 >"), "{out}");
    }

    #[test]
    fn entry_names_follow_the_lists() {
        let out = expanded(
            quote!(for O in [Sum, ops::Max], for T in [f32, u64], for B in [128, 256u32]),
            quote!(
                unsafe fn reduce<T: Element, O: Op<T>, const B: u32>(input: &[T], output: *mut T) {}
            ),
        )
        .expect("valid");
        for name in ["reduce_sum_f32_128", "reduce_sum_u64_256", "reduce_max_f32_256", "reduce_max_u64_128"] {
            assert!(out.contains(&format!("export_name = \"{name}\"")), "{name} in {out}");
        }
        assert_eq!(out.matches("extern \"ptx-kernel\"").count(), 8);
        assert!(out.contains("reduce :: < f32 , Sum , 128 >") || out.contains("reduce :: < T , O , B >"), "{out}");
    }

    #[test]
    fn mistakes_are_reported_with_advice() {
        for (function, advice) in [
            (
                quote!(
                    pub fn k(out: *mut f32) {}
                ),
                "unsafe fn",
            ),
            (
                quote!(
                    fn k(out: DisjointSlice) {}
                ),
                "DisjointSlice<f32>",
            ),
            (
                quote!(
                    fn k(tile: SharedTile<f32>) {}
                ),
                "SharedTile<f32, 256>",
            ),
            (
                quote!(
                    fn größe(out: DisjointSlice<f32>) {}
                ),
                "names of ASCII letters",
            ),
            (
                quote!(
                    unsafe fn k(a: &mut [f32]) {}
                ),
                "*mut T",
            ),
            (
                quote!(
                    unsafe fn k(a: &mut f32) {}
                ),
                "*mut T",
            ),
            (
                quote!(
                    unsafe fn k(a: &f32) {}
                ),
                "*const T",
            ),
            (
                quote!(
                    unsafe fn k(a: &str) {}
                ),
                "*const T",
            ),
            (
                quote!(
                    unsafe fn k(a: *const [f32]) {}
                ),
                "length",
            ),
            (
                quote!(
                    unsafe fn k((a, b): (f32, f32)) {}
                ),
                "plain name",
            ),
            (
                quote!(
                    unsafe fn k(a: (f32, f32)) {}
                ),
                "numbers",
            ),
            (
                quote!(
                    unsafe fn k(f: fn(f32)) {}
                ),
                "numbers",
            ),
            (
                quote!(
                    unsafe fn k(self) {}
                ),
                "self",
            ),
            (
                quote!(
                    unsafe fn k() -> f32 {}
                ),
                "returns nothing",
            ),
            (
                quote!(
                    async unsafe fn k() {}
                ),
                "async",
            ),
            (
                quote!(
                    unsafe extern "C" fn k() {}
                ),
                "extern",
            ),
            (
                quote!(
                    unsafe fn k<'a>(a: &'a [f32]) {}
                ),
                "lifetimes",
            ),
            (
                quote!(
                    fn k(a: &'static [f32]) {}
                ),
                "lifetimes",
            ),
            (
                quote!(
                    fn k(out: view::DisjointSlice<'static, f32>) {}
                ),
                "lifetimes",
            ),
            (
                quote!(
                    unsafe fn k<T>(a: &[T]) {}
                ),
                "for T in",
            ),
        ] {
            let text = error(quote!(), function.clone());
            assert!(text.contains(advice), "{function}: {text}");
        }
    }

    #[test]
    fn mistakes_in_lists_are_reported_with_advice() {
        let function = quote!(
            unsafe fn k<T, const B: u32>(a: &[T]) {}
        );
        for (lists, advice) in [
            (quote!(for T in [], for B in [1]), "empty"),
            (quote!(for T in [f32]), "for B in"),
            (quote!(for T in [f32], for B in [1], for C in [2]), "no generic parameter `C`"),
            (quote!(for T in [f32], for T in [f64], for B in [1]), "two lists"),
            (quote!(for T in [1], for B in [1]), "list types"),
            (quote!(for T in [f32], for B in [f32]), "list literals"),
            (quote!(for T in [Vec<f32>], for B in [1]), "alias"),
            (quote!(for T in [f32], for B in ["x"]), "whole numbers"),
            (quote!(T in [f32]), "expected `for T in"),
        ] {
            let text = error(lists.clone(), function.clone());
            assert!(text.contains(advice), "{lists}: {text}");
        }
    }
}
