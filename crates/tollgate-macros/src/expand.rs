//! What is written for a tool: its struct, its arguments, and the trait with the function inside `run`.
//!
//! A unit struct cannot be shadowed, so the variables that are written have names no tool has.

use proc_macro2::{TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use syn::{Expr, Ident, ItemFn, LitStr, Meta, Visibility, ext::IdentExt, spanned::Spanned};

use crate::{
    attribute::{Declared, check_name},
    function::{Argument, Function, Parameter},
};

/// The whole expansion. One mistake gives one error: after it the tool is still there, without a body where its
/// signature is wrong, so that what speaks of it gives no errors of its own.
pub(crate) fn tool(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let item: ItemFn = match syn::parse2(item) {
        Ok(item) => item,
        Err(error) => {
            let message = format!("`#[tool]` stands on an `async fn`: {error}");
            return syn::Error::new(error.span(), message).to_compile_error();
        }
    };
    if let Some(receiver) = item.sig.receiver() {
        // Here the tool would stand in an `impl`, where a struct cannot.
        let message = "a tool has no `self`; write it as a function of its own, outside of any `impl`";
        return syn::Error::new_spanned(receiver, message).to_compile_error();
    }
    let (declared, arguments) = Declared::read(arguments);
    let (function, signature) = Function::read(item);
    let name = declared.name.clone().unwrap_or_else(|| own_name(&function));
    let body = if signature.is_ok() { body(&function) } else { no_body() };
    let types = types(&function);
    let implementation = implementation(&function, &declared, &name, &body);
    let first = arguments.and(signature).and(check_name(&name)).and(function.check_docs()).err();
    let error = first.map(|error| error.to_compile_error());
    quote!(#types #implementation #error)
}

/// The function's name, as the model will write it.
fn own_name(function: &Function) -> LitStr {
    let name = &function.item.sig.ident;
    LitStr::new(&name.unraw().to_string(), name.span())
}

/// `read_file` has `ReadFileArgs`.
fn args_name(function: &Function) -> Ident {
    let name = function.item.sig.ident.unraw().to_string();
    let camel: String = name
        .split('_')
        .flat_map(|word| {
            let mut letters = word.chars();
            letters.next().into_iter().flat_map(char::to_uppercase).chain(letters)
        })
        .collect();
    format_ident!("{camel}Args", span = function.item.sig.ident.span())
}

fn types(function: &Function) -> TokenStream {
    let Function { docs, cfgs, item, .. } = function;
    let (vis, name, args) = (&item.vis, &item.sig.ident, args_name(function));
    let about = format!("The arguments of [`{name}`].");
    let fields = function.arguments().map(|Argument { attrs, name, ty }| {
        // An empty description is none to the schema, and enough for a crate that wants every item documented.
        let documented = attrs.iter().any(|attr| attr.path().is_ident("doc"));
        let doc = (!documented).then(|| quote!(#[doc = ""]));
        quote!(#doc #(#attrs)* pub #name: #ty)
    });
    // Serde cannot both flatten and refuse what is left over; the schema refuses it in any case.
    let deny = (!function.arguments().any(flattens)).then(|| quote!(, deny_unknown_fields));
    quote! {
        #(#cfgs)*
        #(#docs)*
        #[allow(non_camel_case_types)]
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
        #vis struct #name;

        #(#cfgs)*
        #[doc = #about]
        #[derive(
            ::core::clone::Clone,
            ::tollgate::__private::serde::Deserialize,
            ::tollgate::__private::schemars::JsonSchema,
        )]
        #[serde(crate = "::tollgate::__private::serde" #deny)]
        #[schemars(crate = "::tollgate::__private::schemars")]
        #vis struct #args { #(#fields),* }
    }
}

fn flattens(argument: &Argument) -> bool {
    argument.attrs.iter().any(|attr| match &attr.meta {
        Meta::List(list) if list.path.is_ident("serde") => {
            let mut words = list.tokens.clone().into_iter();
            words.any(|word| matches!(word, TokenTree::Ident(word) if word == "flatten"))
        }
        _ => false,
    })
}

fn implementation(
    function: &Function,
    declared: &Declared,
    tool_name: &LitStr,
    body: &TokenStream,
) -> TokenStream {
    let (cfgs, name, args) = (&function.cfgs, &function.item.sig.ident, args_name(function));
    let (spec, methods) = (spec(function, declared, tool_name), methods(declared, &args));
    quote! {
        #(#cfgs)*
        impl ::tollgate::Tool for #name {
            type Args = #args;
            #spec
            #methods
            async fn run(
                &self,
                __cx: &::tollgate::Cx,
                __args: &#args,
            ) -> ::core::result::Result<::tollgate::Output, ::tollgate::Failure> {
                #body
            }
        }
    }
}

fn spec(function: &Function, declared: &Declared, tool_name: &LitStr) -> TokenStream {
    let (args, doc, returns) = (args_name(function), function.doc_text(), &function.returns);
    let settings = &declared.settings;
    let output = quote_spanned!(returns.span()=> <#returns as ::tollgate::IntoOutput>::output_schema());
    quote! {
        fn spec(&self) -> ::tollgate::ToolSpec {
            let mut __spec = ::tollgate::__private::spec::<#args>(#tool_name, #doc);
            __spec.output_schema = #output;
            #(#settings)*
            __spec
        }
    }
}

/// The methods that are declared; the others keep the trait's own defaults. A function is given its type by
/// name, so that a closure needs no annotations.
fn methods(declared: &Declared, args: &Ident) -> TokenStream {
    let scope = quote!(&::tollgate::Scope);
    let of_call = |returns: TokenStream| quote!(fn(#scope, &#args) -> #returns);
    let checked = quote!(::core::result::Result<(), ::tollgate::Refusal>);
    let enabled = declared.enabled.as_ref().map(|function| {
        let call = call(function, &quote!(fn() -> bool), &quote!());
        quote!(fn is_enabled(&self) -> bool { #call })
    });
    let effects = declared.effects.as_ref().map(|function| {
        let call = call(function, &of_call(quote!(::tollgate::Effects)), &quote!(__scope, __args));
        quote!(fn effects(&self, __scope: #scope, __args: &#args) -> ::tollgate::Effects { #call })
    });
    let check = declared.check.as_ref().map(|function| {
        let call = call(function, &of_call(checked.clone()), &quote!(__scope, __args));
        quote!(async fn check(&self, __scope: #scope, __args: &#args) -> #checked { #call })
    });
    let async_check = declared.async_check.as_ref().map(|function| {
        let call = quote_spanned!(function.span()=> (#function)(__scope, __args).await);
        quote!(async fn check(&self, __scope: #scope, __args: &#args) -> #checked { #call })
    });
    let authorize = declared.authorize.as_ref().map(|function| {
        let call = call(function, &of_call(quote!(::tollgate::Opinion)), &quote!(__scope, __args));
        quote!(fn authorize(&self, __scope: #scope, __args: &#args) -> ::tollgate::Opinion { #call })
    });
    quote!(#enabled #effects #check #async_check #authorize)
}

fn call(function: &Expr, ty: &TokenStream, arguments: &TokenStream) -> TokenStream {
    quote! {
        let __function: #ty = #function;
        __function(#arguments)
    }
}

/// The function as it was written, inside `run`: nothing else can reach it there.
fn body(function: &Function) -> TokenStream {
    let mut item = function.item.clone();
    item.vis = Visibility::Inherited;
    let (name, returns) = (&item.sig.ident, &function.returns);
    let given = function.parameters.iter().map(|parameter| match parameter {
        Parameter::Context => quote!(__cx),
        Parameter::Argument(Argument { name, .. }) => quote!(__args.#name),
    });
    // A parameter with the name of another tool beside this one: a function can be shadowed, a unit struct not.
    let shadows = function.arguments().map(|argument| &argument.name).filter(|own| *own != name);
    let answer = quote!(#name(#(#given),*).await);
    let output = quote_spanned!(returns.span()=> <#returns as ::tollgate::IntoOutput>::into_output(#answer));
    quote! {
        // That it is async and takes everything by value is what a tool asks for.
        #[allow(
            clippy::unused_async,
            clippy::needless_pass_by_value,
            clippy::too_many_arguments,
            clippy::fn_params_excessive_bools
        )]
        #item
        #(#[allow(dead_code)] fn #shadows() {})*
        let __args = ::core::clone::Clone::clone(__args);
        let _ = (&__cx, &__args);
        #output
    }
}

fn no_body() -> TokenStream {
    quote! {
        let _ = (__cx, __args);
        ::core::unreachable!()
    }
}
