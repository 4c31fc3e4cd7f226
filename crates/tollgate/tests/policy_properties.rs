//! Properties of every policy: what a rule more can change, and what it cannot.

use proptest::{
    collection::vec,
    prelude::*,
    sample::{select, subsequence},
};
use serde_json::{Value, json};
use tollgate::{
    Effects, Scope, ToolSpec,
    guard::{Run, Workspace},
    policy::{Decision, Layer, Layers, Policy, Query, Rule, Stance, Verdict},
    tool::Resource,
};

/// Rules that overlap in every way: outright, by argument, by path, host and command.
const TEXTS: [&str; 24] = [
    "*",
    "edit",
    "ed*",
    "shell",
    "fetch",
    "edit(path in ./src)",
    "edit(path=**/lock)",
    "edit(force=true)",
    "edit(path=src/a.rs, only)",
    "read(./**)",
    "write(./src/**)",
    "write(./src/a.rs)",
    "write(**/lock)",
    "write(/work/app/src)",
    "shell(git status *)",
    "shell(git *)",
    "shell(git push *)",
    "shell(git push --force *)",
    "shell(*)",
    "shell(rm -rf *)",
    "host(example.com)",
    "host(*.example.com)",
    "host(*)",
    "@srv/edit",
];

const STANCES: [Stance; 5] = [Stance::Deny, Stance::AskAlways, Stance::Grant, Stance::Ask, Stance::Allow];

fn rule(stances: &'static [Stance], layers: &'static [Layer]) -> impl Strategy<Value = Rule> {
    (select(stances), select(layers), select(&TEXTS[..]))
        .prop_map(|(stance, layer, text)| placed(stance, layer, text))
}

fn placed(stance: Stance, layer: Layer, text: &str) -> Rule {
    Rule::parse(stance, text).unwrap().placed(layer, "a test")
}

fn any_rules() -> impl Strategy<Value = Vec<Rule>> {
    vec(rule(&STANCES, &Layer::ALL), 0..12)
}

/// A call that the rules can mean.
#[derive(Debug, Clone)]
struct Call {
    tool: &'static str,
    args: Value,
    touches: Vec<Resource>,
    kind: u8,
}

fn call() -> impl Strategy<Value = Call> {
    let command = |text: &str| Resource::Command { command: text.split(' ').map(str::to_owned).collect() };
    let path = |path: &str, access| Resource::Path { path: path.into(), access };
    use tollgate::tool::Access::{Read, Write};
    let things = vec![
        path("src/a.rs", Write),
        path("src/lock", Write),
        path("b.rs", Write),
        path("b.rs", Read),
        path(".env", Read),
        path(".git/config", Write),
        path("tollgate.toml", Write),
        command("git status"),
        command("git push --force origin"),
        command("git -C x push"),
        command("rm -fr x"),
        Resource::Command { command: Vec::new() },
        Resource::Host { host: "a.example.com".to_owned() },
        Resource::Host { host: "example.com".to_owned() },
        Resource::Key { key: "db".to_owned() },
    ];
    let args = vec![
        json!({}),
        json!({"path": "src/a.rs"}),
        json!({"path": "src/a.rs", "force": true}),
        json!({"path": ["src/lock", "b.rs"]}),
    ];
    (select(vec!["edit", "shell", "fetch", "other"]), select(args), subsequence(things, 0..4), 0..4_u8)
        .prop_map(|(tool, args, touches, kind)| Call { tool, args, touches, kind })
}

impl Call {
    fn look<T>(&self, look: impl FnOnce(&Query<'_>) -> T) -> T {
        let mut tool = ToolSpec::new(self.tool, "", json!({})).unwrap();
        tool.requires_permission = self.kind != 3;
        let effects = match self.kind {
            0 => Effects::worst(),
            1 => Effects::writing(),
            _ => Effects::reading(),
        };
        let effects = self.touches.iter().cloned().fold(effects, Effects::touching);
        let scope = Scope::new(Run::new("properties"), Workspace::new("/work/app"));
        look(&Query::new(&tool, &self.args, &effects, &scope))
    }

    fn decide(&self, rules: &[Rule]) -> Verdict {
        self.look(|query| Layers::new(rules.to_vec()).decide(query))
    }

    fn forbids(&self, rules: &[Rule]) -> Option<Verdict> {
        self.look(|query| Layers::new(rules.to_vec()).forbids(query))
    }
}

fn with(rules: &[Rule], more: &[Rule]) -> Vec<Rule> {
    rules.iter().chain(more).cloned().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn a_deny_more_never_makes_anything_less_strict(
        rules in any_rules(), deny in rule(&[Stance::Deny], &Layer::ALL), call in call(),
    ) {
        let (before, after) = (call.decide(&rules), call.decide(&with(&rules, &[deny])));
        prop_assert!(after.decision >= before.decision, "{before:?} became {after:?}");
    }

    #[test]
    fn an_ask_more_never_lets_anything_run(
        rules in any_rules(), ask in rule(&[Stance::Ask, Stance::AskAlways], &Layer::ALL), call in call(),
    ) {
        let (before, after) = (call.decide(&rules), call.decide(&with(&rules, &[ask])));
        prop_assert!(after.decision >= before.decision, "{before:?} became {after:?}");
    }

    #[test]
    fn a_lower_layer_never_relaxes_what_a_higher_one_says(
        upper in vec(rule(&[Stance::Deny, Stance::AskAlways, Stance::Ask, Stance::Allow], &[Layer::Managed, Layer::User]), 0..8),
        lower in vec(rule(&[Stance::Deny, Stance::AskAlways, Stance::Ask, Stance::Allow], &[Layer::Project, Layer::Session]), 0..8),
        call in call(),
    ) {
        let (before, after) = (call.decide(&upper), call.decide(&with(&upper, &lower)));
        // Where no rule of the higher layers speaks there is nothing to relax.
        if !(before.rule.is_some() || before.protected.is_some_and(|kind| kind == tollgate::policy::Protected::Own)) {
            return Ok(());
        }
        prop_assert!(after.decision >= before.decision, "{before:?} became {after:?}");
    }

    #[test]
    fn nothing_below_relaxes_what_the_machine_says_grants_included(
        managed in vec(rule(&[Stance::Deny, Stance::AskAlways, Stance::Ask, Stance::Allow], &[Layer::Managed]), 0..8),
        lower in vec(rule(&STANCES, &[Layer::User, Layer::Project, Layer::Session]), 0..8),
        call in call(),
    ) {
        let (before, after) = (call.decide(&managed), call.decide(&with(&managed, &lower)));
        if !(before.rule.is_some()) {
            return Ok(());
        }
        prop_assert!(after.decision >= before.decision, "{before:?} became {after:?}");
    }

    #[test]
    fn a_grant_never_beats_a_deny_or_an_ask_marked_always(
        rules in any_rules(),
        grants in vec(rule(&[Stance::Grant], &[Layer::User, Layer::Project, Layer::Session]), 1..6),
        call in call(),
    ) {
        let before = call.decide(&rules);
        // Most calls are asked about by nobody's rule; those say nothing here.
        let stands = |verdict: &Verdict| {
            verdict.decision == Decision::Deny
                || verdict.rule.as_ref().is_some_and(|rule| rule.text.starts_with("ask always "))
        };
        if !(stands(&before)) {
            return Ok(());
        }
        prop_assert_eq!(call.decide(&with(&rules, &grants)), before);
    }

    #[test]
    fn the_order_of_rules_does_not_matter(rules in any_rules().prop_flat_map(|rules| {
        (Just(rules.clone()), Just(rules).prop_shuffle())
    }), call in call()) {
        prop_assert_eq!(call.decide(&rules.0), call.decide(&rules.1));
    }

    #[test]
    fn deny_alone_is_deny_with_everything(rules in any_rules(), call in call()) {
        let denies: Vec<Rule> = rules.iter().filter(|rule| rule.stance() == Stance::Deny).cloned().collect();
        let (alone, all, decided) = (call.forbids(&denies), call.forbids(&rules), call.decide(&rules));
        prop_assert_eq!(&alone, &all);
        prop_assert_eq!(all, (decided.decision == Decision::Deny).then_some(decided));
    }

    #[test]
    fn a_tool_that_is_not_offered_is_always_denied(rules in any_rules(), call in call()) {
        let policy = Layers::new(rules);
        let (offered, verdict) = call.look(|query| (policy.offers(query.tool), policy.decide(query)));
        prop_assert!(offered || verdict.decision == Decision::Deny);
    }

    #[test]
    fn whatever_is_written_is_a_rule_or_an_error_with_a_place(text in "\\PC{0,40}") {
        for stance in STANCES {
            if let Err(bad) = Rule::parse(stance, &text) {
                prop_assert!(bad.at <= text.chars().count() + 1 && !bad.message.is_empty());
            }
        }
    }

    #[test]
    fn what_is_offered_for_an_always_lets_exactly_that_call_run(call in call()) {
        let found = call.look(tollgate::policy::reaches);
        for reach in found {
            let rules: Vec<Rule> = reach.rules.iter().map(|text| placed(Stance::Grant, Layer::Session, text)).collect();
            let verdict = call.decide(&rules);
            let guarded = verdict.protected.is_some() || verdict.decision == Decision::Deny;
            prop_assert!(verdict.decision == Decision::Allow || guarded, "{reach:?} {verdict:?}");
        }
    }
}
