//! What stands in the brackets of `#[tool(..)]`: every argument known, well formed, and given once.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{
    Error, Expr, ExprLit, Ident, Lit, LitStr, Result, Token,
    ext::IdentExt,
    parse::{Parse, ParseStream, Parser},
    punctuated::Punctuated,
    token::Paren,
};

/// What the brackets declare. What is `None` or missing keeps the safe default.
#[derive(Default)]
pub(crate) struct Declared {
    pub(crate) name: Option<LitStr>,
    pub(crate) effects: Option<Expr>,
    pub(crate) check: Option<Expr>,
    pub(crate) async_check: Option<Expr>,
    pub(crate) authorize: Option<Expr>,
    pub(crate) enabled: Option<Expr>,
    /// Statements that set a field of `__spec`.
    pub(crate) settings: Vec<TokenStream>,
}

/// Every argument there is, with an example of how it is written.
const KNOWN: &[(&str, &str)] = &[
    ("effects", "effects = |scope, args| Effects::reading()"),
    ("check", "check = my_check"),
    ("async_check", "async_check = my_async_check"),
    ("authorize", "authorize = my_opinion"),
    ("enabled", "enabled = || true"),
    ("name", "name = \"other_name\""),
    ("aliases", "aliases(\"x\", \"y\")"),
    ("owner", "owner = \"the payments team\""),
    ("capability", "capability = \"files.read\""),
    ("max_result_chars", "max_result_chars = 2000"),
    ("unlimited", "unlimited"),
    ("timeout_ms", "timeout_ms = 30_000"),
    ("idle_ms", "idle_ms = 5_000"),
    ("connect_ms", "connect_ms = 2_000"),
    ("retry", "retry = 3"),
    ("interrupt", "interrupt = cancel` or `interrupt = block"),
    ("requires_interaction", "requires_interaction"),
    ("requires_idempotency_key", "requires_idempotency_key"),
    ("waive_permission", "waive_permission"),
    ("deferred", "deferred"),
    ("always_load", "always_load"),
    ("explicit_only", "explicit_only"),
    ("stop_siblings", "stop_siblings"),
    ("inline", "inline"),
    ("traced", "traced(\"a\", \"b\")"),
];

/// What an argument decides: two that decide the same cannot stand together.
fn decides(argument: &str) -> &str {
    match argument {
        "unlimited" => "max_result_chars",
        "always_load" => "deferred",
        "async_check" => "check",
        own => own,
    }
}

impl Declared {
    /// Reads the brackets. After an error it still holds what was right, so that nothing else goes wrong.
    pub(crate) fn read(tokens: TokenStream) -> (Self, Result<()>) {
        let mut declared = Self::default();
        let read = Punctuated::<Argument, Token![,]>::parse_terminated.parse2(tokens).and_then(|arguments| {
            let arguments: Vec<_> = arguments.into_iter().collect();
            arguments.iter().enumerate().try_for_each(|(at, argument)| {
                argument.given_once(&arguments[..at])?;
                declared.take(argument)
            })
        });
        (declared, read)
    }

    fn take(&mut self, argument: &Argument) -> Result<()> {
        let setting = match argument.name.to_string().as_str() {
            "effects" => return argument.function().map(|f| self.effects = Some(f)),
            "check" => return argument.function().map(|f| self.check = Some(f)),
            "async_check" => return argument.function().map(|f| self.async_check = Some(f)),
            "authorize" => return argument.function().map(|f| self.authorize = Some(f)),
            "enabled" => return argument.function().map(|f| self.enabled = Some(f)),
            "name" => return argument.tool_name().map(|name| self.name = Some(name)),
            _ => argument.setting()?,
        };
        self.settings.push(setting);
        Ok(())
    }
}

/// One argument as it was written.
struct Argument {
    name: Ident,
    value: Value,
}

enum Value {
    Nothing,
    Equals(Expr),
    List(Vec<Expr>),
}

impl Argument {
    /// The statement on `__spec` that the argument stands for.
    fn setting(&self) -> Result<TokenStream> {
        Ok(match self.name.to_string().as_str() {
            "aliases" => {
                let names = self.texts()?;
                names.iter().try_for_each(check_name)?;
                quote!(__spec.aliases = ::tollgate::__private::names(&[#(#names),*]);)
            }
            "traced" => {
                let names = self.texts()?;
                quote!(__spec.traced = ::std::vec![#(::core::convert::Into::into(#names)),*];)
            }
            "owner" => some(&quote!(owner), &self.text()?),
            "capability" => some(&quote!(capability), &self.text()?),
            "max_result_chars" => {
                let chars = self.number()?;
                quote!(__spec.max_result = ::tollgate::tool::ResultLimit::Chars(#chars);)
            }
            "unlimited" => {
                self.alone()?;
                quote!(__spec.max_result = ::tollgate::tool::ResultLimit::Unlimited;)
            }
            "timeout_ms" => {
                let wait = millis(&self.number()?);
                quote!(__spec.timeouts.total = #wait;)
            }
            "idle_ms" => {
                let wait = millis(&self.number()?);
                quote!(__spec.timeouts.idle = ::core::option::Option::Some(#wait);)
            }
            "connect_ms" => {
                let wait = millis(&self.number()?);
                quote!(__spec.timeouts.connect = ::core::option::Option::Some(#wait);)
            }
            "retry" => {
                let attempts = self.number()?;
                quote!(__spec.retry = ::tollgate::guard::RetryPolicy::up_to(#attempts);)
            }
            "interrupt" => {
                let variant = self.interrupt()?;
                quote!(__spec.interrupt = ::tollgate::tool::Interrupt::#variant;)
            }
            _ => self.flag()?,
        })
    }

    fn flag(&self) -> Result<TokenStream> {
        let setting = match self.name.to_string().as_str() {
            "requires_interaction" => quote!(__spec.requires_interaction = true;),
            "requires_idempotency_key" => quote!(__spec.requires_idempotency_key = true;),
            "waive_permission" => quote!(__spec.requires_permission = false;),
            "deferred" => quote!(__spec.visibility = ::tollgate::tool::Visibility::Deferred;),
            "always_load" => quote!(__spec.visibility = ::tollgate::tool::Visibility::AlwaysLoad;),
            "explicit_only" => quote!(__spec.explicit_only = true;),
            "stop_siblings" => quote!(__spec.on_fatal = ::tollgate::tool::OnFatal::StopSiblings;),
            "inline" => quote!(__spec.inline = true;),
            _ => return Err(self.unknown()),
        };
        self.alone().map(|()| setting)
    }

    fn alone(&self) -> Result<()> {
        if matches!(self.value, Value::Nothing) { Ok(()) } else { Err(self.badly_written()) }
    }

    fn function(&self) -> Result<Expr> {
        match &self.value {
            Value::Equals(function @ (Expr::Path(_) | Expr::Closure(_))) => Ok(function.clone()),
            _ => Err(self.badly_written()),
        }
    }

    fn text(&self) -> Result<LitStr> {
        match &self.value {
            Value::Equals(value) => literal(value).ok_or_else(|| self.badly_written()),
            _ => Err(self.badly_written()),
        }
    }

    fn texts(&self) -> Result<Vec<LitStr>> {
        let Value::List(values) = &self.value else { return Err(self.badly_written()) };
        values.iter().map(literal).collect::<Option<_>>().ok_or_else(|| self.badly_written())
    }

    fn tool_name(&self) -> Result<LitStr> {
        let name = self.text()?;
        check_name(&name).map(|()| name)
    }

    /// A number from 1, or a constant that holds one.
    fn number(&self) -> Result<Expr> {
        match &self.value {
            Value::Equals(number @ Expr::Path(_)) => Ok(number.clone()),
            Value::Equals(number @ Expr::Lit(ExprLit { lit: Lit::Int(literal), .. })) => {
                if literal.base10_parse::<u64>().is_ok_and(|number| number == 0) {
                    return Err(Error::new(literal.span(), format!("`{}` is at least 1", self.name)));
                }
                Ok(number.clone())
            }
            _ => Err(self.badly_written()),
        }
    }

    fn interrupt(&self) -> Result<TokenStream> {
        let Value::Equals(Expr::Path(word)) = &self.value else { return Err(self.badly_written()) };
        match word.path.get_ident() {
            Some(word) if word == "cancel" => Ok(quote_spanned!(word.span()=> Cancel)),
            Some(word) if word == "block" => Ok(quote_spanned!(word.span()=> Block)),
            _ => Err(self.badly_written()),
        }
    }

    fn given_once(&self, earlier: &[Self]) -> Result<()> {
        let name = self.name.to_string();
        let rival = earlier.iter().map(|other| other.name.to_string()).find(|o| decides(o) == decides(&name));
        match rival {
            None => Ok(()),
            Some(rival) if rival == name => {
                Err(Error::new(self.name.span(), format!("`{name}` is given twice; keep one")))
            }
            Some(rival) => Err(Error::new(
                self.name.span(),
                format!("`{rival}` and `{name}` decide the same thing; keep one of them"),
            )),
        }
    }

    fn badly_written(&self) -> Error {
        let name = self.name.to_string();
        let usage = KNOWN.iter().find(|(known, _)| *known == name).map_or(name.as_str(), |(_, usage)| usage);
        Error::new(self.name.span(), format!("`{name}` is written `{usage}`"))
    }

    fn unknown(&self) -> Error {
        let name = self.name.to_string();
        let names: Vec<_> = KNOWN.iter().map(|(known, _)| *known).collect();
        let near = names.iter().map(|known| (strsim::osa_distance(known, &name), known)).min();
        let meant = match near {
            Some((distance, near)) if distance * 3 <= near.len().max(name.len()) => {
                format!("; did you mean `{near}`?")
            }
            _ => String::new(),
        };
        Error::new(
            self.name.span(),
            format!("`#[tool]` has no argument `{name}`{meant}\nIt has: {}", names.join(", ")),
        )
    }
}

impl Parse for Argument {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        // Words like `type` are unknown arguments here, not syntax errors.
        let name = Ident::parse_any(input)?;
        let value = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            Value::Equals(input.parse()?)
        } else if input.peek(Paren) {
            let list;
            syn::parenthesized!(list in input);
            Value::List(Punctuated::<Expr, Token![,]>::parse_terminated(&list)?.into_iter().collect())
        } else {
            Value::Nothing
        };
        Ok(Self { name, value })
    }
}

/// The rule of `tollgate::tool::ToolName`, so that a bad name is found where it is written.
pub(crate) fn check_name(name: &LitStr) -> Result<()> {
    let text = name.value();
    let odd = text.chars().find(|c| !(c.is_ascii_alphanumeric() || "_-./".contains(*c)));
    let wrong = match odd {
        _ if text.is_empty() => "it cannot be empty".to_owned(),
        Some(odd) => format!("{odd:?} cannot stand in one"),
        None if text.len() > 128 => format!("this one has {} characters", text.len()),
        None => return Ok(()),
    };
    Err(Error::new(
        name.span(),
        format!("not a tool name: {wrong}; write 1 to 128 of `A-Z a-z 0-9 _ - . /`, as in \"read_file\""),
    ))
}

fn literal(value: &Expr) -> Option<LitStr> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.clone()),
        _ => None,
    }
}

fn some(field: &TokenStream, text: &LitStr) -> TokenStream {
    quote!(__spec.#field = ::core::option::Option::Some(::core::convert::Into::into(#text));)
}

fn millis(number: &Expr) -> TokenStream {
    quote!(::core::time::Duration::from_millis(#number))
}

#[cfg(test)]
#[path = "attribute_tests.rs"]
mod tests;
