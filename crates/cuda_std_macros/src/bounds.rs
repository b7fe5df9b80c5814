//! The arguments of `#[kernel]`, and those that limit its launches: `launch_bounds(256, 2)`, `block(16, 16)`,
//! `cluster(2)`, `max_registers(64)`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, Ident, Result, Token, parenthesized};

use crate::allow::Allowed;
use crate::instances::{List, Lists};

/// The arguments of `#[kernel]`.
pub struct Arguments {
    pub lists: Lists,
    pub bounds: Bounds,
    pub allowed: Allowed,
}

/// The limits of a kernel, in source order.
#[derive(Default)]
pub struct Bounds(Vec<Bound>);

struct Bound {
    name: Ident,
    values: Vec<Expr>,
}

impl Parse for Arguments {
    fn parse(input: ParseStream) -> Result<Self> {
        let (mut lists, mut bounds, mut allowed) = (Vec::<List>::new(), Bounds::default(), Allowed::default());
        while !input.is_empty() {
            let is_bound = !input.peek(Token![for]) && (input.peek2(syn::token::Paren) || input.peek2(Token![=]));
            if input.fork().parse::<Ident>().is_ok_and(|name| name == "allow") {
                if !allowed.is_empty() {
                    return Err(input.error("`allow` is given twice: name all lints in one"));
                }
                allowed = input.parse()?;
            } else if is_bound {
                bounds.add(input.parse()?)?
            } else {
                lists.push(input.parse()?)
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(Self { lists: Lists::new(lists), bounds, allowed })
    }
}

impl Parse for Bound {
    fn parse(input: ParseStream) -> Result<Self> {
        let name: Ident = input.parse()?;
        let values: Vec<Expr> = if input.parse::<Option<Token![=]>>()?.is_some() {
            vec![input.parse()?]
        } else {
            let content;
            parenthesized!(content in input);
            Punctuated::<Expr, Token![,]>::parse_terminated(&content)?.into_iter().collect()
        };
        let (allowed, usage) = match name.to_string().as_str() {
            "launch_bounds" => (1..=2, "launch_bounds(most threads of a block, fewest blocks of a multiprocessor)"),
            "block" => (1..=3, "block(threads along x, along y, along z)"),
            "cluster" => (1..=3, "cluster(blocks along x, along y, along z)"),
            "max_registers" => (1..=1, "max_registers(registers of a thread, or 0 for no limit)"),
            _ => {
                let text = format!(
                    "unknown argument `{name}`: expected `for T in […]`, `launch_bounds`, `block`, \
                                    `cluster`, `max_registers` or `allow`"
                );
                return Err(Error::new(name.span(), text));
            }
        };
        if !allowed.contains(&values.len()) {
            return Err(Error::new(name.span(), format!("wrong number of values: expected `{usage}`")));
        }
        Ok(Self { name, values })
    }
}

impl Bounds {
    fn add(&mut self, bound: Bound) -> Result<()> {
        let is = |bound: &Bound, name: &str| bound.name == name;
        if self.0.iter().any(|other| other.name == bound.name) {
            return Err(Error::new(bound.name.span(), format!("`{}` is given twice", bound.name)));
        }
        let of_block = |bound: &Bound| is(bound, "launch_bounds") || is(bound, "block");
        if of_block(&bound) && self.0.iter().any(of_block) {
            let text = "a block has either a largest or a required size: give `launch_bounds` or `block`";
            return Err(Error::new(bound.name.span(), text));
        }
        self.0.push(bound);
        Ok(())
    }

    /// Statements at the start of an entry, which `cuda_builder` turns into PTX directives: calls of functions that do
    /// not exist, named for the directive. The values are evaluated for each instance.
    pub fn statements(&self) -> TokenStream {
        let calls = self.0.iter().flat_map(|Bound { name, values }| match (name.to_string().as_str(), &values[..]) {
            ("launch_bounds", [threads]) => vec![directive("maxntid", &[threads])],
            ("launch_bounds", [threads, blocks, ..]) => {
                vec![directive("maxntid", &[threads]), directive("minctasm", &[blocks])]
            }
            ("block", values) => vec![directive("reqntid", &values.iter().collect::<Vec<_>>())],
            ("cluster", values) => vec![directive("cluster_dim", &values.iter().collect::<Vec<_>>())],
            (_, values) => vec![directive("maxnreg", &values.iter().collect::<Vec<_>>())],
        });
        quote!(#(#calls)*)
    }
}

fn directive(name: &str, values: &[&Expr]) -> TokenStream {
    // The build leaves a limit of 0 registers out.
    let least = u32::from(name != "maxnreg");
    let symbol = format!("rustwarp.kernel.{name}");
    let function = format_ident!("__{name}");
    let parameters = (0..values.len()).map(|i| format_ident!("value_{i}"));
    quote! {
        unsafe extern "C" {
            #[link_name = #symbol]
            fn #function(#(#parameters: u32),*);
        }
        // SAFETY: the build removes the call.
        unsafe { #function(#(const {
            let value: u32 = #values;
            assert!(value >= #least, "a limit of a kernel is at least 1");
            value
        }),*) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: TokenStream) -> Result<(usize, String)> {
        let Arguments { lists, bounds, allowed } = syn::parse2(arguments)?;
        let code = [bounds.statements(), allowed.statics("k")].map(|code| code.to_string()).concat();
        Ok((lists.iter().count(), code))
    }

    #[test]
    fn limits_stand_beside_lists() {
        let (lists, code) =
            parsed(quote!(launch_bounds(B, 2), for B in [128, 256], max_registers = 64,)).expect("valid");
        assert_eq!(lists, 1);
        for symbol in ["rustwarp.kernel.maxntid", "rustwarp.kernel.minctasm", "rustwarp.kernel.maxnreg"] {
            assert_eq!(code.matches(symbol).count(), 1, "{symbol} in {code}");
        }
        let (_, code) = parsed(quote!(block(16, 16), cluster(2), allow(spills))).expect("valid");
        assert!(code.contains("rustwarp.kernel.reqntid"), "{code}");
        assert!(code.contains("rustwarp.kernel.cluster_dim"), "{code}");
        assert!(code.contains("rustwarp.allow.spills.k"), "{code}");
    }

    #[test]
    fn mistakes_are_reported_with_advice() {
        for (arguments, advice) in [
            (quote!(launch_bound(256)), "unknown argument `launch_bound`"),
            (quote!(launch_bounds()), "launch_bounds(most threads"),
            (quote!(block(1, 2, 3, 4)), "block(threads along x"),
            (quote!(max_registers(32), max_registers(64)), "given twice"),
            (quote!(launch_bounds(256), block(256)), "either a largest or a required size"),
            (quote!(allow(spills), allow(local_memory)), "name all lints in one"),
        ] {
            let error = parsed(arguments.clone()).expect_err("refused").to_string();
            assert!(error.contains(advice), "{arguments}: {error}");
        }
    }
}
