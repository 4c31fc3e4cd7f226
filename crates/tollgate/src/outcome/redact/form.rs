//! Secrets that are known by their form: a prefix and what follows it.

use super::{Span, key_block::key_block};

/// A known form.
struct Form {
    prefix: &'static str,
    kind: &'static str,
    /// The fewest characters after the prefix.
    least: usize,
    body: Body,
}

/// Which characters follow.
#[derive(Clone, Copy)]
enum Body {
    /// `A-Z 0-9`
    Capitals,
    /// `A-Z a-z 0-9`
    Letters,
    /// The same, and `_ -`
    Words,
    /// The same, and `. + / = ~`
    Wide,
}

const fn form(prefix: &'static str, kind: &'static str, least: usize, body: Body) -> Form {
    Form { prefix, kind, least, body }
}

/// Those that begin with the same byte stand together, and the longer of two that begin alike stands first.
static FORMS: [Form; 61] = [
    form("AKIA", "AWS access key id", 16, Body::Capitals),
    form("ASIA", "AWS access key id", 16, Body::Capitals),
    form("AGE-SECRET-KEY-1", "age secret key", 40, Body::Capitals),
    form("AIza", "Google API key", 35, Body::Words),
    form("ABIA", "AWS access key id", 16, Body::Capitals),
    form("ACCA", "AWS access key id", 16, Body::Capitals),
    form("ATATT3", "Atlassian token", 50, Body::Wide),
    form("GOCSPX-", "Google client secret", 20, Body::Words),
    form("NRAK-", "New Relic key", 27, Body::Capitals),
    form("PMAK-", "Postman key", 50, Body::Words),
    form("SG.", "SendGrid key", 40, Body::Wide),
    form("dop_v1_", "DigitalOcean token", 40, Body::Letters),
    form("dckr_pat_", "Docker token", 20, Body::Words),
    form("dp.pt.", "Doppler token", 40, Body::Letters),
    form("figd_", "Figma token", 40, Body::Words),
    form("ghp_", "GitHub token", 30, Body::Letters),
    form("gho_", "GitHub token", 30, Body::Letters),
    form("ghu_", "GitHub token", 30, Body::Letters),
    form("ghs_", "GitHub token", 30, Body::Letters),
    form("ghr_", "GitHub token", 30, Body::Letters),
    form("github_pat_", "GitHub token", 22, Body::Words),
    form("glpat-", "GitLab token", 18, Body::Words),
    form("gsk_", "Groq key", 30, Body::Letters),
    form("glrt-", "GitLab token", 18, Body::Words),
    form("hf_", "Hugging Face token", 30, Body::Letters),
    form("https://discord.com/api/webhooks/", "Discord webhook", 40, Body::Wide),
    form("https://hooks.slack.com/services/", "Slack webhook", 30, Body::Wide),
    form("hvs.", "Vault token", 24, Body::Words),
    form("lin_api_", "Linear key", 30, Body::Letters),
    form("lsv2_pt_", "LangSmith key", 40, Body::Words),
    form("npm_", "npm token", 30, Body::Letters),
    form("ntn_", "Notion token", 30, Body::Letters),
    form("nvapi-", "NVIDIA key", 40, Body::Words),
    form("pk_live_", "Stripe key", 16, Body::Letters),
    form("pypi-", "PyPI token", 40, Body::Words),
    form("pplx-", "Perplexity key", 40, Body::Letters),
    form("pscale_tkn_", "PlanetScale token", 30, Body::Words),
    form("rk_live_", "Stripe key", 16, Body::Letters),
    form("r8_", "Replicate token", 37, Body::Letters),
    form("rubygems_", "RubyGems key", 40, Body::Letters),
    form("sk_live_", "Stripe key", 16, Body::Letters),
    form("sk_test_", "Stripe key", 16, Body::Letters),
    form("secret_", "Notion token", 40, Body::Letters),
    form("shpat_", "Shopify token", 30, Body::Letters),
    form("sk-ant-", "Anthropic key", 20, Body::Words),
    form("sk-or-", "OpenRouter key", 20, Body::Words),
    form("sk-", "OpenAI key", 20, Body::Words),
    form("sbp_", "Supabase token", 40, Body::Letters),
    form("sntrys_", "Sentry token", 40, Body::Wide),
    form("tvly-", "Tavily key", 20, Body::Words),
    form("vercel_", "Vercel token", 20, Body::Letters),
    form("whsec_", "webhook secret", 20, Body::Wide),
    form("xoxb-", "Slack token", 10, Body::Words),
    form("xoxp-", "Slack token", 10, Body::Words),
    form("xai-", "xAI key", 40, Body::Words),
    form("xapp-", "Slack token", 20, Body::Words),
    form("xoxa-", "Slack token", 10, Body::Words),
    form("xoxe-", "Slack token", 10, Body::Words),
    form("xoxr-", "Slack token", 10, Body::Words),
    form("xoxs-", "Slack token", 10, Body::Words),
    form("ya29.", "Google access token", 20, Body::Words),
];

/// Where in [`FORMS`] those with one first byte begin, how many there are, and which bytes come second in them.
#[derive(Clone, Copy)]
struct Place {
    first: usize,
    count: usize,
    second: u128,
}

const fn beginning_with() -> [Place; 256] {
    let mut places = [Place { first: 0, count: 0, second: 0 }; 256];
    let mut at = 0;
    while at < FORMS.len() {
        let prefix = FORMS[at].prefix.as_bytes();
        let place = &mut places[prefix[0] as usize];
        if place.count == 0 {
            place.first = at;
        }
        assert!(place.first + place.count == at, "forms with one first byte stand together");
        place.count += 1;
        place.second |= 1 << prefix[1];
        at += 1;
    }
    places
}

static PLACES: [Place; 256] = beginning_with();

impl Place {
    /// The forms that may begin with these bytes: none for nearly every word, by its second one.
    fn forms(self, bytes: &[u8]) -> &'static [Form] {
        match bytes.get(1) {
            Some(byte) if byte.is_ascii() && self.second >> byte & 1 == 1 => {
                &FORMS[self.first..self.first + self.count]
            }
            _ => &[],
        }
    }
}

/// Bytes a form, a token or a key block begins with.
const fn first_bytes() -> [bool; 256] {
    let (mut first, places) = ([false; 256], beginning_with());
    let mut at = 0;
    while at < 256 {
        first[at] = places[at].count > 0;
        at += 1;
    }
    let mut digit = b'0';
    while digit <= b'9' {
        first[digit as usize] = true;
        digit += 1;
    }
    first[b'e' as usize] = true;
    first[b'-' as usize] = true;
    first[b'B' as usize] = true;
    first[b'b' as usize] = true;
    first
}

static FIRST: [bool; 256] = first_bytes();

pub(super) fn find(text: &str, spans: &mut Vec<Span>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let begins = FIRST[bytes[at] as usize] && (at == 0 || !is_word(bytes[at - 1]));
        match if begins { at_place(text, at) } else { None } {
            Some(span) => {
                at = span.to;
                spans.push(span);
            }
            None => at += 1,
        }
    }
    in_urls(text, spans);
}

fn at_place(text: &str, at: usize) -> Option<Span> {
    let rest = &text.as_bytes()[at..];
    for form in PLACES[usize::from(rest[0])].forms(rest) {
        if let Some(body) = after(rest, form.prefix.as_bytes())
            && let Some(length) = body_length(body, form.body, form.least)
        {
            return Some(Span { from: at, to: at + form.prefix.len() + length, kind: form.kind.into() });
        }
    }
    let span = |(from, to): (usize, usize), kind: &'static str| Span {
        from: at + from,
        to: at + to,
        kind: kind.into(),
    };
    match rest[0] {
        b'0'..=b'9' => bot_token(rest).map(|length| span((0, length), "Telegram token")),
        b'e' => web_token(rest).map(|length| span((0, length), "JSON web token")),
        b'b' | b'B' => bearer(rest).map(|place| span(place, "bearer token")),
        b'-' => key_block(text, at),
        _ => None,
    }
}

/// What follows the prefix. Byte by byte: nearly all differ at the second one.
fn after<'a>(bytes: &'a [u8], prefix: &[u8]) -> Option<&'a [u8]> {
    let begins = bytes.len() >= prefix.len() && bytes.iter().zip(prefix).all(|(byte, wanted)| byte == wanted);
    begins.then(|| &bytes[prefix.len()..])
}

/// How long the body is, if it is long enough. One that is broken by a line end is put together again: long lines
/// are wrapped, and chunks end anywhere.
fn body_length(bytes: &[u8], body: Body, least: usize) -> Option<usize> {
    let (mut seen, mut at) = (0, 0);
    loop {
        match bytes.get(at) {
            Some(byte) if body.has(*byte) => seen += 1,
            Some(b'\r' | b'\n') if (1..least).contains(&seen) => {}
            _ => break,
        }
        at += 1;
    }
    // A line end after the last character is not part of it.
    while at > 0 && matches!(bytes[at - 1], b'\r' | b'\n') {
        at -= 1;
    }
    (seen >= least).then_some(at)
}

impl Body {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Letters => byte.is_ascii_alphanumeric(),
            Self::Words => byte.is_ascii_alphanumeric() || b"_-".contains(&byte),
            Self::Wide => byte.is_ascii_alphanumeric() || b"_-.+/=~".contains(&byte),
        }
    }
}

/// Three parts in base64, the first two of them JSON objects.
fn web_token(bytes: &[u8]) -> Option<usize> {
    if !bytes.starts_with(b"eyJ") {
        return None;
    }
    let part = |from: usize| bytes[from..].iter().take_while(|byte| Body::Words.has(**byte)).count();
    let head = part(0);
    let body_at = head + 1;
    if head < 10 || bytes.get(head) != Some(&b'.') || !bytes[body_at..].starts_with(b"eyJ") {
        return None;
    }
    let body = part(body_at);
    let end = body_at + body;
    Some(if bytes.get(end) == Some(&b'.') { end + 1 + part(end + 1) } else { end })
}

/// A bot's number of 8 to 10 digits, and 35 characters.
fn bot_token(bytes: &[u8]) -> Option<usize> {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let body = bytes[digits..].strip_prefix(b":").filter(|_| (8..=10).contains(&digits))?;
    let length = body.iter().take_while(|byte| Body::Words.has(**byte)).count();
    (length == 35).then_some(digits + 1 + length)
}

/// `Bearer` and `Basic`, and what follows.
fn bearer(bytes: &[u8]) -> Option<(usize, usize)> {
    let word = |word: &[u8]| bytes.len() > word.len() && bytes[..word.len()].eq_ignore_ascii_case(word);
    let from = [b"bearer ".as_slice(), b"basic "].into_iter().find(|name| word(name))?.len();
    let length = bytes[from..].iter().take_while(|byte| Body::Wide.has(**byte)).count();
    let body = &bytes[from..from + length];
    let mixed = body.iter().any(u8::is_ascii_digit) && body.iter().any(u8::is_ascii_alphabetic);
    (length >= 16 && mixed).then_some((from, from + length))
}

/// The password in `scheme://user:password@host`.
fn in_urls(text: &str, spans: &mut Vec<Span>) {
    for at in memchr::memchr_iter(b':', text.as_bytes()) {
        let from = at + 3;
        if text.as_bytes().get(at + 1..from) != Some(b"//") {
            continue;
        }
        let end = text[from..].find(|c: char| c.is_whitespace() || "/?#\"'<>`".contains(c));
        let authority = &text[from..end.map_or(text.len(), |end| from + end)];
        let Some((user, _)) = authority.rsplit_once('@') else { continue };
        if let Some((name, password)) = user.split_once(':')
            && !password.is_empty()
            && !password.starts_with(['$', '{', '<', '*'])
        {
            let start = from + name.len() + 1;
            spans.push(Span { from: start, to: start + password.len(), kind: "password in a URL".into() });
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
