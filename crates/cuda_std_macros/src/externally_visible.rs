//! `#[externally_visible]`: checks that the function has a symbol. rustc exports every function that has one, and the
//! builder keeps what rustc exports.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Error, ItemFn, Meta, Result};

/// Expands `#[externally_visible]` on a function.
///
/// # Errors
/// Fails if the compiler chooses the function's symbol.
pub fn expand(function: &ItemFn) -> Result<TokenStream> {
    if function.attrs.iter().any(names_a_symbol) {
        return Ok(quote!(#function));
    }
    let advice =
        "the symbol of this function is the compiler's: add `#[unsafe(no_mangle)]` below `#[externally_visible]`";
    Err(Error::new(function.sig.ident.span(), advice))
}

fn names_a_symbol(attribute: &Attribute) -> bool {
    let is_one = |path: &syn::Path| path.is_ident("no_mangle") || path.is_ident("export_name");
    is_one(attribute.path())
        || attribute.path().is_ident("unsafe") && attribute.parse_args().is_ok_and(|meta: Meta| is_one(meta.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_needs_a_symbol() {
        for with in [quote!(#[no_mangle]), quote!(#[unsafe(no_mangle)]), quote!(#[unsafe(export_name = "g")])] {
            let function = syn::parse2(quote!(#with extern "C" fn f() {})).expect("a function");
            assert!(expand(&function).is_ok(), "{with}");
        }
        let without = syn::parse_quote!(
            #[inline]
            extern "C" fn f() {}
        );
        let error = expand(&without).expect_err("no symbol").to_string();
        assert!(error.contains("#[unsafe(no_mangle)]"), "{error}");
    }
}
