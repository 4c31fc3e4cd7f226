//! What the function says: its documentation, its arguments, its context and what it gives back.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, Generics, Ident, ItemFn, Lit, Meta, Pat, PatIdent, PatType,
    Result, ReturnType, Safety, Type, parse_quote,
};

/// A function that is to become a tool.
pub(crate) struct Function {
    /// Its doc comment.
    pub(crate) docs: Vec<Attribute>,
    /// The conditions under which it exists at all.
    pub(crate) cfgs: Vec<Attribute>,
    /// Its parameters in order, the context among them.
    pub(crate) parameters: Vec<Parameter>,
    /// What it returns; `()` where nothing is said.
    pub(crate) returns: Type,
    /// The function itself, rid of what is said above.
    pub(crate) item: ItemFn,
}

pub(crate) enum Parameter {
    /// `cx: &Cx`.
    Context,
    /// A field of the arguments.
    Argument(Argument),
}

pub(crate) struct Argument {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) name: Ident,
    pub(crate) ty: Box<Type>,
}

/// The first thing that is wrong. One mistake gives one error.
#[derive(Default)]
struct Trouble(Option<Error>);

impl Trouble {
    fn note(&mut self, place: &impl ToTokens, message: impl std::fmt::Display) {
        self.0.get_or_insert_with(|| Error::new_spanned(place, message));
    }

    fn into_result(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

impl Function {
    /// Reads the function. What is wrong with it is left out, so that one mistake does not lead to others.
    pub(crate) fn read(mut item: ItemFn) -> (Self, Result<()>) {
        let mut trouble = Trouble::default();
        check_kind(&mut item, &mut trouble);
        let mut parameters = Vec::new();
        for input in &mut item.sig.inputs {
            // A `self` was refused before anything was read.
            let FnArg::Typed(input) = input else { continue };
            parameters.extend(parameter(input, &mut trouble));
        }
        if parameters.iter().filter(|parameter| matches!(parameter, Parameter::Context)).count() > 1 {
            trouble.note(&item.sig.inputs, "one `&Cx` is enough; keep one of them");
        }
        let returns = returns(&item, &mut trouble);
        let (docs, rest) = split(std::mem::take(&mut item.attrs), "doc");
        let (cfgs, rest) = split(rest, "cfg");
        item.attrs = rest;
        (Self { docs, cfgs, parameters, returns, item }, trouble.into_result())
    }

    /// A model cannot use what nobody described.
    pub(crate) fn check_docs(&self) -> Result<()> {
        let written = self.docs.iter().any(|attr| match &attr.meta {
            Meta::NameValue(doc) => match &doc.value {
                Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => !text.value().trim().is_empty(),
                // `#[doc = include_str!("..")]`
                _ => true,
            },
            _ => false,
        });
        if written {
            return Ok(());
        }
        let name = &self.item.sig.ident;
        let message = format!(
            "the tool `{name}` has no description; write a doc comment above it: `/// What it does.`"
        );
        Err(Error::new_spanned(name, message))
    }

    /// The arguments, in order.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.parameters.iter().filter_map(|parameter| match parameter {
            Parameter::Argument(argument) => Some(argument),
            Parameter::Context => None,
        })
    }

    /// The doc comment as one string expression, line by line as written.
    pub(crate) fn doc_text(&self) -> TokenStream {
        let lines = self.docs.iter().filter_map(|attr| match &attr.meta {
            Meta::NameValue(doc) => Some(&doc.value),
            _ => None,
        });
        quote!(::core::concat!(#(#lines, "\n"),*))
    }
}

/// A tool is a plain `async fn`.
fn check_kind(item: &mut ItemFn, trouble: &mut Trouble) {
    let sig = &mut item.sig;
    let name = sig.ident.to_string();
    if sig.asyncness.is_none() {
        trouble.note(&sig.fn_token, format!("a tool is an `async fn`; write `async fn {name}`"));
    }
    let odd = sig.constness.is_some() || sig.abi.is_some() || sig.variadic.is_some();
    if odd || !matches!(sig.safety, Safety::Default) {
        let message =
            format!("a tool is a plain `async fn {name}`, without `const`, `unsafe`, `extern` or `...`");
        trouble.note(sig, message);
    }
    let Generics { params, where_clause, .. } = &sig.generics;
    if !params.is_empty() || where_clause.is_some() {
        let message =
            "a tool cannot be generic, it has one schema; write the types out, or make one tool for each";
        trouble.note(&sig.generics, message);
        // A type parameter means nothing outside the function.
        sig.inputs.clear();
        sig.output = ReturnType::Default;
    }
}

/// Takes what only a tool's parameter has off the function's own; `None` where nothing can be made of it.
fn parameter(input: &mut PatType, trouble: &mut Trouble) -> Option<Parameter> {
    let attrs = std::mem::take(&mut input.attrs);
    if is_context(&input.ty) {
        return Some(Parameter::Context);
    }
    let name = match &*input.pat {
        Pat::Ident(PatIdent { by_ref: None, subpat: None, ident, .. }) => ident.clone(),
        pattern => {
            let message =
                "a parameter is an argument with a name; write `name: Type` and take it apart in the body";
            trouble.note(pattern, message);
            return None;
        }
    };
    let odd =
        attrs.iter().find(|attr| !["doc", "serde", "schemars"].iter().any(|ok| attr.path().is_ident(ok)));
    if let Some(odd) = odd {
        trouble.note(odd, "a parameter has doc comments, `#[serde(..)]` and `#[schemars(..)]`, nothing else");
    }
    if let Some(message) = unusable(&input.ty, &name) {
        trouble.note(&input.ty, message);
        return None;
    }
    Some(Parameter::Argument(Argument { attrs, name, ty: input.ty.clone() }))
}

fn is_context(ty: &Type) -> bool {
    match ty {
        Type::Reference(reference) => reference.mutability.is_none() && is_named(&reference.elem, "Cx"),
        _ => false,
    }
}

fn is_named(ty: &Type, name: &str) -> bool {
    match ty {
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == name),
        _ => false,
    }
}

/// Why a type cannot be that of an argument, and what can.
fn unusable(ty: &Type, name: &Ident) -> Option<String> {
    match ty {
        Type::Path(_) if is_named(ty, "Cx") => Some(format!("the context is borrowed; write `{name}: &Cx`")),
        Type::Reference(reference) if is_named(&reference.elem, "Cx") => {
            Some(format!("the context is shared; write `{name}: &Cx`"))
        }
        Type::Reference(reference) if is_named(&reference.elem, "Scope") => {
            Some(format!("the scope is part of the context; write `{name}: &Cx`, which derefs to it"))
        }
        Type::ImplTrait(_) => Some("an argument has one type; write it out instead of `impl`".to_owned()),
        Type::Reference(reference) => {
            let owned = owned(&reference.elem);
            Some(format!("arguments arrive by value; write `{name}: {owned}`"))
        }
        _ if borrows(ty.to_token_stream()) => Some(
            "arguments arrive by value, so their types borrow nothing; use owned types like `String`".into(),
        ),
        _ => None,
    }
}

/// What to take instead of a reference to this.
fn owned(ty: &Type) -> String {
    let owned = match ty {
        Type::Path(_) if is_named(ty, "str") => quote!(String),
        Type::Path(_) if is_named(ty, "Path") => quote!(PathBuf),
        Type::Slice(slice) => {
            let item = &slice.elem;
            quote!(Vec<#item>)
        }
        own => quote!(#own),
    };
    owned.to_string().replace(" < ", "<").replace(" >", ">").replace(" :: ", "::")
}

/// True when a reference or a lifetime stands anywhere in a type.
fn borrows(ty: TokenStream) -> bool {
    ty.into_iter().any(|token| match token {
        TokenTree::Punct(punct) => matches!(punct.as_char(), '&' | '\''),
        TokenTree::Group(group) => borrows(group.stream()),
        _ => false,
    })
}

fn returns(item: &ItemFn, trouble: &mut Trouble) -> Type {
    match &item.sig.output {
        ReturnType::Default => parse_quote!(()),
        ReturnType::Type(_, ty) if matches!(**ty, Type::ImplTrait(_)) => {
            trouble.note(ty, "the return type is part of the tool; write it out instead of `impl`");
            parse_quote!(())
        }
        ReturnType::Type(_, ty) => (**ty).clone(),
    }
}

fn split(attrs: Vec<Attribute>, name: &str) -> (Vec<Attribute>, Vec<Attribute>) {
    attrs.into_iter().partition(|attr| attr.path().is_ident(name))
}
