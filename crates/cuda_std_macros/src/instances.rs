//! The argument lists of `#[kernel]`, `for T in [f32, f64], for B in [128, 256]`: the instances of a generic kernel.

use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, GenericParam, Generics, Ident, Lit, Result, Token, Type, bracketed};

use crate::params::NO_LIFETIMES;

/// All lists of one kernel, in source order.
pub struct Lists(Vec<List>);

/// One list: `for PARAMETER in [CHOICES]`.
pub struct List {
    pub parameter: Ident,
    pub choices: Vec<Choice>,
}

/// An element of a list.
#[derive(Clone)]
pub enum Choice {
    Type(Box<Type>),
    Value(Lit),
}

impl Parse for List {
    fn parse(input: ParseStream) -> Result<Self> {
        input.parse::<Token![for]>().map_err(|e| Error::new(e.span(), "expected `for T in [f32, …]`"))?;
        let parameter = input.parse()?;
        input.parse::<Token![in]>()?;
        let content;
        let bracket = bracketed!(content in input);
        let choices: Vec<_> = Punctuated::<Choice, Token![,]>::parse_terminated(&content)?.into_iter().collect();
        if choices.is_empty() {
            return Err(Error::new(
                bracket.span.join(),
                "an empty list: name at least one type or value to compile the kernel for",
            ));
        }
        Ok(Self { parameter, choices })
    }
}

impl Parse for Choice {
    fn parse(input: ParseStream) -> Result<Self> {
        if input.peek(Lit) { input.parse().map(Self::Value) } else { input.parse().map(|t| Self::Type(Box::new(t))) }
    }
}

impl Choice {
    /// The choice's part of the entry name.
    ///
    /// # Errors
    /// Fails for a type without a plain name, and for a literal that is neither a whole number nor a `bool`.
    pub fn name(&self) -> Result<String> {
        match self {
            Self::Type(ty) => match &**ty {
                Type::Path(path) if path.qself.is_none() => {
                    let last = path.path.segments.last().filter(|s| s.arguments.is_none());
                    last.map(|s| s.ident.to_string().to_lowercase())
                }
                _ => None,
            }
            .ok_or_else(|| {
                Error::new(ty.span(), "the type's name becomes part of the entry name: use a plain type or an alias")
            }),
            Self::Value(Lit::Int(int)) => Ok(int.base10_digits().to_owned()),
            Self::Value(Lit::Bool(bool)) => Ok(bool.value.to_string()),
            Self::Value(other) => {
                Err(Error::new(other.span(), "a const parameter of a kernel takes whole numbers or `bool` values"))
            }
        }
    }

    fn span(&self) -> Span {
        match self {
            Self::Type(ty) => ty.span(),
            Self::Value(lit) => lit.span(),
        }
    }
}

impl Lists {
    pub fn new(lists: Vec<List>) -> Self {
        Self(lists)
    }

    pub fn iter(&self) -> impl Iterator<Item = &List> {
        self.0.iter()
    }

    /// Checks that every generic parameter has one list of its kind, and that every list belongs to a parameter.
    ///
    /// # Errors
    /// Fails for a parameter without a list, a list without a parameter, a list of the wrong kind, and lifetimes.
    pub fn check(&self, generics: &Generics) -> Result<()> {
        for list in &self.0 {
            if self.0.iter().filter(|other| other.parameter == list.parameter).count() > 1 {
                let text = format!("`{}` has two lists", list.parameter);
                return Err(Error::new(list.parameter.span(), text));
            }
            let kind = generics.params.iter().find_map(|p| match p {
                GenericParam::Type(t) if t.ident == list.parameter => Some(true),
                GenericParam::Const(c) if c.ident == list.parameter => Some(false),
                _ => None,
            });
            let Some(is_type) = kind else {
                let text = format!("the kernel has no generic parameter `{}`", list.parameter);
                return Err(Error::new(list.parameter.span(), text));
            };
            for choice in &list.choices {
                choice.name()?;
                match (choice, is_type) {
                    (Choice::Value(_), true) => {
                        let text = format!("`{}` is a type parameter: list types", list.parameter);
                        return Err(Error::new(choice.span(), text));
                    }
                    (Choice::Type(_), false) => {
                        let text = format!("`{}` is a const parameter: list literals", list.parameter);
                        return Err(Error::new(choice.span(), text));
                    }
                    _ => {}
                }
            }
        }
        for parameter in &generics.params {
            let ident = match parameter {
                GenericParam::Lifetime(l) => return Err(Error::new(l.span(), NO_LIFETIMES)),
                GenericParam::Type(t) => &t.ident,
                GenericParam::Const(c) => &c.ident,
            };
            if !self.0.iter().any(|list| list.parameter == *ident) {
                let text = format!(
                    "PTX has no generics: list the instances to compile, as in #[kernel(for {ident} in [f32, f64])]"
                );
                return Err(Error::new(ident.span(), text));
            }
        }
        Ok(())
    }

    /// All combinations of one choice per list; the last list varies fastest. Without lists this is one empty
    /// combination.
    pub fn combinations(&self) -> Vec<Vec<Choice>> {
        self.0.iter().fold(vec![Vec::new()], |done, list| {
            let extend = |front: Vec<Choice>| {
                list.choices.iter().map(move |choice| front.iter().chain([choice]).cloned().collect())
            };
            done.into_iter().flat_map(extend).collect()
        })
    }
}
