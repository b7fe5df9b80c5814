//! `#[address_space(...)]`: a link section on the device, which `cuda_builder` turns into an address space of the PTX.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Error, Ident, ItemStatic, Result, StaticMutability, spanned::Spanned};

/// Expands `#[address_space(space)]` on a static.
///
/// # Errors
/// Fails for an unknown address space, or a static that cannot be in it.
pub fn expand(space: &Ident, item: &ItemStatic) -> Result<TokenStream> {
    let section = match space.to_string().as_str() {
        "shared" => {
            if !matches!(item.mutability, StaticMutability::Mut(_)) {
                return Err(Error::new(
                    item.ident.span(),
                    "a shared static is uninitialised until a thread writes it: declare it as `static mut`",
                ));
            }
            Some(".shared")
        }
        "constant" => Some(".constant"),
        "global" => None,
        "local" => {
            return Err(Error::new(
                space.span(),
                "a static can't be in local memory: use a `let` in the kernel, which is in registers or local memory",
            ));
        }
        other => {
            let advice = format!("unknown address space `{other}`: expected shared, constant or global");
            return Err(Error::new(space.span(), advice));
        }
    };
    let link = section.map(|name| quote!(#[cfg_attr(target_arch = "nvptx64", unsafe(link_section = #name))]));
    let check = (section == Some(".shared")).then(|| {
        let ty = &item.ty;
        quote_spanned!(ty.span()=> const _: () = ::cuda_std::shared::assert_uninit::<#ty>();)
    });
    Ok(quote! {
        #link
        #item
        #check
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(space: &str, item: ItemStatic) -> Result<String> {
        expand(&Ident::new(space, proc_macro2::Span::call_site()), &item).map(|t| t.to_string())
    }

    #[test]
    fn shared_is_a_link_section_on_the_device_only() {
        let out = expanded(
            "shared",
            syn::parse_quote!(
                static mut X: [MaybeUninit<u32>; 4] = U;
            ),
        )
        .expect("a valid static");
        assert!(out.contains(r#"cfg_attr (target_arch = "nvptx64" , unsafe (link_section = ".shared"))"#), "{out}");
        assert!(out.contains("assert_uninit"), "{out}");
    }

    #[test]
    fn global_changes_nothing() {
        let out = expanded(
            "global",
            syn::parse_quote!(
                static mut X: u32 = 0;
            ),
        )
        .expect("a valid static");
        assert_eq!(out, "static mut X : u32 = 0 ;");
    }

    #[test]
    fn mistakes_are_reported_with_advice() {
        let shared = expanded(
            "shared",
            syn::parse_quote!(
                static X: u32 = 0;
            ),
        )
        .expect_err("not mut");
        assert!(shared.to_string().contains("static mut"), "{shared}");
        let typo = expanded(
            "share",
            syn::parse_quote!(
                static X: u32 = 0;
            ),
        )
        .expect_err("typo");
        assert!(typo.to_string().contains("shared, constant or global"), "{typo}");
    }
}
