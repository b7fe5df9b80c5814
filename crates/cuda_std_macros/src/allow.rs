//! The argument `allow(LINT, …)` of `#[kernel]`: the lints of `cuda_builder` that a kernel turns off for itself.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Ident, Result, Token, parenthesized};

/// The lints of `cuda_builder`, by name. A test of `cuda_builder` compares this list with its own: a crate of kernels
/// does not depend on the builder.
const LINTS: [&str; 6] =
    ["local_memory", "spills", "generic_shared", "f64_arithmetic", "divergent_barrier", "core_atomics"];

/// The lints that a kernel turns off, in source order.
#[derive(Default)]
pub struct Allowed(Vec<String>);

impl Parse for Allowed {
    fn parse(input: ParseStream) -> Result<Self> {
        let keyword: Ident = input.parse()?;
        let content;
        parenthesized!(content in input);
        let names = Punctuated::<Ident, Token![,]>::parse_terminated(&content)?;
        if names.is_empty() {
            let text = format!("no lint is named: expected one or more of {}", list());
            return Err(Error::new(keyword.span(), text));
        }
        let mut lints = Vec::new();
        for name in names {
            let lint = name.to_string();
            if !LINTS.contains(&lint.as_str()) {
                let text = format!("unknown lint `{lint}` of kernels: expected one of {}", list());
                return Err(Error::new(name.span(), text));
            }
            if lints.contains(&lint) {
                return Err(Error::new(name.span(), format!("`{lint}` is given twice")));
            }
            lints.push(lint);
        }
        Ok(Self(lints))
    }
}

impl Allowed {
    /// Whether another argument can be next to this one: a kernel has one list.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Statics whose symbols `cuda_builder` reads from the exports of the crate. No code uses them, so the PTX has none
    /// of them.
    pub fn statics(&self, entry: &str) -> TokenStream {
        let statics = self.0.iter().map(|lint| {
            let symbol = format!("rustwarp.allow.{lint}.{entry}");
            quote! {
                const _: () = {
                    #[unsafe(export_name = #symbol)]
                    pub static __ALLOW: u8 = 0;
                };
            }
        });
        quote!(#(#statics)*)
    }
}

fn list() -> String {
    LINTS.map(|lint| format!("`{lint}`")).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lint_has_a_symbol_of_the_entry() {
        let allowed: Allowed = syn::parse2(quote!(allow(local_memory, spills,))).expect("valid");
        let code = allowed.statics("scan_f32").to_string();
        assert!(code.contains("rustwarp.allow.local_memory.scan_f32"), "{code}");
        assert!(code.contains("rustwarp.allow.spills.scan_f32"), "{code}");
    }

    #[test]
    fn a_wrong_name_is_an_error_that_lists_the_names() {
        for (arguments, advice) in [
            (quote!(allow(local)), "unknown lint `local` of kernels: expected one of `local_memory`, `spills`"),
            (quote!(allow()), "no lint is named: expected one or more of `local_memory`"),
            (quote!(allow(spills, spills)), "`spills` is given twice"),
        ] {
            let Err(error) = syn::parse2::<Allowed>(arguments.clone()) else { panic!("{arguments} is accepted") };
            assert!(error.to_string().contains(advice), "{arguments}: {error}");
        }
    }
}
