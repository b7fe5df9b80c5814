//! The two expansions of a kernel: entries on the device, a launcher on the host.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Attribute, GenericParam, Generics, Ident, ItemFn, Result, parse_quote, spanned::Spanned};

use crate::bounds::Arguments;
use crate::instances::{Choice, List, Lists};
use crate::params::{Kind, Param};

/// Expands to the function itself, and one `extern "ptx-kernel"` function per combination of the lists.
///
/// # Errors
/// Fails if a type of a list has no name that an entry's name can contain.
pub fn device(arguments: &Arguments, function: &ItemFn, params: &[Param]) -> Result<TokenStream> {
    let combinations = arguments.lists.combinations();
    let entries =
        combinations.iter().map(|choices| entry(arguments, choices, function, params)).collect::<Result<Vec<_>>>()?;
    let inline = (!function.attrs.iter().any(|a| a.path().is_ident("inline"))).then(|| quote!(#[inline(always)]));
    Ok(quote! {
        #[cfg(target_arch = "nvptx64")]
        #inline
        #function

        #(
            #[cfg(target_arch = "nvptx64")]
            #entries
        )*
    })
}

/// Expands to one entry, inside an anonymous constant, so that its Rust name cannot collide with another.
fn entry(arguments: &Arguments, choices: &[Choice], function: &ItemFn, params: &[Param]) -> Result<TokenStream> {
    let Arguments { lists, bounds, allowed } = arguments;
    let (bounds, sig) = (bounds.statements(), &function.sig);
    let name = &sig.ident;
    let mut symbol = name.to_string();
    // The generic parameters become type aliases and constants of the same names, so the parameters' types need no
    // rewriting.
    let mut bindings = Vec::new();
    for (list, choice) in lists.iter().zip(choices) {
        let part = choice.name()?;
        symbol = format!("{symbol}_{part}");
        bindings.push(binding(list, choice, &part, &sig.generics));
    }
    let generics = sig.generics.params.iter().map(|p| match p {
        GenericParam::Type(t) => &t.ident,
        GenericParam::Const(c) => &c.ident,
        GenericParam::Lifetime(l) => &l.lifetime.ident,
    });
    let mut inputs = Vec::new();
    let mut passed = Vec::new();
    let mut checks = Vec::new();
    let mut parameters = 0;
    for Param { name: written, kind, .. } in params {
        // A parameter may have the name of the kernel, which the entry calls: its own names are invisible to that path.
        let name = &local(written);
        let number = parameters;
        parameters += kind.parameters();
        match kind {
            Kind::View(view, ty) => {
                let view_type = ident(view.on_device());
                let sizes: Vec<_> = view.sizes().iter().map(|size| format_ident!("{name}__{size}")).collect();
                // As for a slice; a mutable reference makes the parameter `noalias`, and never null.
                inputs.push(quote!(#name: &'static mut [#ty; 0] #(, #sizes: usize)*));
                passed.push(quote!(::cuda_std::view::#view_type::<#ty>::from_raw_parts(
                    (&raw mut *#name).cast() #(, #sizes)*
                )));
            }
            Kind::Tile(ty, count) => {
                // The memory is an item of the entry, where the generic parameters are aliases, so a tile's type may
                // use them. Its name is not one that the crate's own items have: it would hide those.
                let storage = format_ident!("__tile_of_{written}");
                bindings.push(quote! {
                    #[unsafe(link_section = ".shared")]
                    static mut #storage: ::cuda_std::view::Storage<#ty, { #count }> =
                        [const { ::core::mem::MaybeUninit::uninit() }; { #count }];
                });
                passed.push(quote!(::cuda_std::view::SharedTile::<#ty, { #count }>::from_raw(
                    (&raw mut #storage).cast()
                )));
            }
            Kind::Slice(ty) => {
                let len = format_ident!("{name}__len");
                // The entry takes a reference, not a pointer: its parameter then carries `noalias readonly`, without
                // which LLVM does not use the read-only data cache. The reference is to an array of length zero, since
                // the real length is known at run time only.
                inputs.push(quote!(#name: &'static [#ty; 0], #len: usize));
                passed.push(quote!(::core::slice::from_raw_parts((&raw const *#name).cast::<#ty>(), #len)));
            }
            Kind::Ptr(ty) => {
                inputs.push(quote!(#name: *const #ty));
                passed.push(quote!(#name));
            }
            Kind::PtrMut(ty) => {
                inputs.push(quote!(#name: *mut #ty));
                passed.push(quote!(#name));
            }
            Kind::TensorMap(_) => {
                passed.push(tensor_map(number));
                inputs.push(quote!(#name: [u64; 16]));
            }
            Kind::Value(ty) => {
                inputs.push(quote!(#name: #ty));
                passed.push(quote!(#name));
                checks.push(quote_spanned!(ty.span()=> ::cuda_std::launch::assert_scalar::<#ty>();));
            }
        }
    }
    let allowed = allowed.statics(&symbol);
    Ok(quote! {
        #[allow(non_camel_case_types, non_snake_case, non_upper_case_globals, dead_code, improper_ctypes_definitions)]
        const _: () = {
            #(#bindings)*
            #(#checks)*
            #allowed
            #[unsafe(export_name = #symbol)]
            pub unsafe extern "ptx-kernel" fn __entry(#(#inputs),*) {
                #bounds
                // SAFETY: the code that launches the entry upholds the kernel's contract, and each length is that of
                // its slice. Each thread has one view of each memory, and one tile.
                #[allow(unused_unsafe)]
                unsafe { #name::<#(#generics),*>(#(#passed),*) }
            }
        };
    })
}

/// Expands to the map that is parameter `number` of the entry: its address in parameter space, which no Rust code can
/// take. The build replaces the call.
fn tensor_map(number: u32) -> TokenStream {
    quote! {{
        unsafe extern "C" {
            #[link_name = "rustwarp.kernel.tensor_map"]
            fn __tensor_map(number: u32) -> u64;
        }
        ::cuda_std::memory::TensorMap::at(__tensor_map(#number))
    }}
}

/// A name for a local variable of generated code, which no path that the user wrote refers to.
fn local(name: &Ident) -> Ident {
    let mut name = name.clone();
    name.set_span(name.span().resolved_at(Span::mixed_site()));
    name
}

fn binding(list: &List, choice: &Choice, part: &str, generics: &Generics) -> TokenStream {
    let parameter = &list.parameter;
    match choice {
        Choice::Type(ty) => {
            let message = format!(
                "<{} as Instance>::NAME must be \"{part}\": the launcher forms the entry's name from it",
                quote!(#ty)
            );
            quote! {
                type #parameter = #ty;
                const _: () = assert!(
                    ::cuda_std::launch::is_one_of(<#parameter as ::cuda_std::launch::Instance>::NAME, &[#part]),
                    #message
                );
            }
        }
        Choice::Value(value) => {
            let ty = generics.const_params().find(|c| c.ident == *parameter).map(|c| &c.ty);
            quote!(const #parameter: #ty = #value;)
        }
    }
}

/// Expands to a function of the same name that takes the arguments and returns the call. It contains the kernel, so
/// that the kernel is type-checked on the host.
///
/// # Errors
/// Fails if a type of a list has no name that an entry's name can contain.
pub fn host(lists: &Lists, function: &ItemFn, params: &[Param]) -> Result<TokenStream> {
    let ItemFn { attrs, vis, sig, .. } = function;
    let (name, generics) = (&sig.ident, launcher_generics(lists, &sig.generics));
    let (generics, _, bounds) = generics.split_for_impl();
    let mut inputs = Vec::new();
    let mut pushed = Vec::new();
    for Param { name, kind, .. } in params {
        let (input, push) = match kind {
            Kind::View(view, ty) => {
                let (view_type, method) = (ident(view.on_host()), ident(view.method()));
                (quote!(::cuda_std::launch::#view_type<'launch, #ty>), quote!(#method(#name)))
            }
            Kind::Tile(..) => continue,
            Kind::Slice(ty) => (quote!(::cuda_std::launch::Slice<'launch, #ty>), quote!(slice(#name))),
            Kind::Ptr(ty) => (quote!(::cuda_std::launch::Ptr<'launch, #ty>), quote!(ptr(#name))),
            Kind::PtrMut(ty) => (quote!(::cuda_std::launch::PtrMut<'launch, #ty>), quote!(ptr_mut(#name))),
            Kind::TensorMap(elements) => {
                let ty = quote!(::cuda_std::memory::TensorMap #elements);
                (ty.clone(), quote!(scalar::<#ty>(#name)))
            }
            Kind::Value(ty) => (quote!(#ty), quote_spanned!(ty.span()=> scalar::<#ty>(#name))),
        };
        inputs.push(quote!(#name: #input));
        pushed.push(push);
    }
    let mut parts = Vec::new();
    let mut checks = Vec::new();
    for list in lists.iter() {
        let parameter = &list.parameter;
        let names = list.choices.iter().map(Choice::name).collect::<Result<Vec<_>>>()?;
        let message = format!("`{name}` is not compiled for this `{parameter}`: add it to the kernel's list");
        match list.choices.first() {
            Some(Choice::Value(_)) => {
                let values = list.choices.iter().map(|c| match c {
                    Choice::Value(value) => quote!(#value),
                    Choice::Type(ty) => quote!(#ty),
                });
                parts.push(quote!(&#parameter));
                checks.push(quote!(const { assert!(matches!(#parameter, #(#values)|*), #message) };));
            }
            _ => {
                let instance = quote!(<#parameter as ::cuda_std::launch::Instance>::NAME);
                checks.push(
                    quote!(const { assert!(::cuda_std::launch::is_one_of(#instance, &[#(#names),*]), #message) };),
                );
                parts.push(quote!(&#instance));
            }
        }
    }
    let symbol = name.to_string();
    let (call, safe) = match sig.unsafety {
        Some(_) => (quote!(Call), quote!(__call)),
        None => (quote!(SafeCall), quote!(unsafe { ::cuda_std::launch::SafeCall::new(__call) })),
    };
    let bounds_of_parameters = params.iter().filter_map(|param| contract(param, sig.unsafety.is_none()));
    // Lint attributes apply to the kernel inside too; the documentation belongs to the launcher alone.
    let lints = attrs.iter().filter(|a| !is_doc(a));
    let mut body = function.clone();
    body.attrs.clear();
    body.vis = parse_quote!();
    // Naming each combination checks its bounds, and counts as a use of the listed types on the host.
    let combinations = lists.combinations();
    let instances = combinations.iter().filter(|choices| !choices.is_empty()).map(|choices| {
        // The kernel's generics may be in another order than the lists.
        let chosen = |parameter| lists.iter().zip(choices).find(|(list, _)| &list.parameter == parameter);
        let arguments = sig.generics.params.iter().map(|parameter| match parameter {
            GenericParam::Type(t) => chosen(&t.ident),
            GenericParam::Const(c) => chosen(&c.ident),
            GenericParam::Lifetime(_) => None,
        });
        let arguments = arguments.flatten().map(|(_, choice)| match choice {
            Choice::Type(ty) => quote!(#ty),
            Choice::Value(value) => quote!({ #value }),
        });
        quote!(let _ = #name::<#(#arguments),*>;)
    });
    Ok(quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        const _: fn() = || {
            #(#instances)*
        };


        #(#attrs)*
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(clippy::too_many_arguments, clippy::manual_range_patterns)]
        #vis fn #name #generics (#(#inputs),*) -> ::cuda_std::launch::#call<'launch> #bounds {
            // In a block, where it is not in the way of a parameter with its name.
            {
                #(#lints)*
                #[allow(dead_code, clippy::missing_safety_doc)]
                #body
            }

            #(#checks)*
            #(#bounds_of_parameters)*
            #[allow(unused_mut)]
            let mut __call = ::cuda_std::launch::Call::new(::cuda_std::launch::entry_name(#symbol, &[#(#parts),*]));
            #(__call.#pushed;)*
            #safe
        }
    })
}

/// Code that compiles only if the parameter's type is that of `cuda_std`, where it was recognised by name, and if a
/// safe kernel may share it between threads.
fn contract(param: &Param, safe: bool) -> Option<TokenStream> {
    let ty = &param.ty;
    let same = match &param.kind {
        Kind::View(view, element) => {
            let view = ident(view.on_device());
            quote!(::cuda_std::view::#view<'static, #element>)
        }
        Kind::Tile(element, count) => quote!(::cuda_std::view::SharedTile<'static, #element, { #count }>),
        Kind::TensorMap(elements) => quote!(::cuda_std::memory::TensorMap #elements),
        Kind::Slice(element) if safe => {
            return Some(quote_spanned!(element.span()=> ::cuda_std::launch::assert_sync::<#element>();));
        }
        _ => return None,
    };
    let element = match &param.kind {
        Kind::View(_, element) => Some(quote_spanned!(element.span()=> ::cuda_std::launch::assert_send::<#element>();)),
        _ => None,
    };
    Some(quote_spanned! {ty.span()=>
        let _ = |view: #same| { let _: #ty = view; };
        #element
    })
}

fn ident(name: &str) -> Ident {
    format_ident!("{name}")
}

/// The kernel's generics, preceded by the lifetime of the launch, and with the bound `Instance` on every listed type.
fn launcher_generics(lists: &Lists, generics: &Generics) -> Generics {
    let mut generics = generics.clone();
    generics.params.insert(0, parse_quote!('launch));
    for parameter in generics.type_params_mut() {
        if lists.iter().any(|list| list.parameter == parameter.ident) {
            parameter.bounds.push(parse_quote!(::cuda_std::launch::Instance));
        }
    }
    generics
}

fn is_doc(attribute: &Attribute) -> bool {
    attribute.path().is_ident("doc")
}
