//! `#[gpu_only]`: the function's body on the device, a panic on the host.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ItemFn;

pub fn expand(function: ItemFn) -> TokenStream {
    let ItemFn { attrs, vis, sig, block } = function;
    let name = sig.ident.to_string();
    let inline = (!attrs.iter().any(|a| a.path().is_ident("inline"))).then(|| quote!(#[inline(always)]));
    quote! {
        #(#attrs)*
        #[cfg(target_arch = "nvptx64")]
        #inline
        #vis #sig #block

        #(#attrs)*
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(unused_variables, unused_mut, clippy::missing_const_for_fn)]
        #vis #sig {
            ::cuda_std::unavailable(#name)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_is_on_the_device_only() {
        let out = expand(syn::parse_quote!(
            /// Doc.
            pub fn lane() -> u32 {
                secret()
            }
        ))
        .to_string();
        assert_eq!(out.matches("secret").count(), 1);
        assert_eq!(out.matches("Doc.").count(), 2);
        assert!(out.contains("unavailable (\"lane\")"), "{out}");
        assert!(out.contains("inline (always)"), "{out}");
    }

    #[test]
    fn the_functions_own_inline_attribute_is_kept() {
        let out = expand(syn::parse_quote!(
            #[inline(never)]
            fn f() {}
        ))
        .to_string();
        assert!(!out.contains("always"), "{out}");
    }
}
