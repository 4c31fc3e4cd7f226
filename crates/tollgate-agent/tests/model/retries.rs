//! Requests are made again where that helps, as often as allowed, and never behind the caller's back.

use std::time::{Duration, Instant, SystemTime};

use tollgate::wire::TurnEvent;
use tollgate_agent::{
    model::{ErrorKind, Model, ModelError, Retries, Step},
    provider::{Api, Settings},
    standin::{Cut, Delivery, Say, StandIn},
};

use crate::support::{APIS, broken, hello, name, steps};

#[tokio::test]
async fn overload_twice_and_then_success_is_success_with_two_waits_told() {
    let standin = StandIn::start().await.unwrap();
    for api in APIS {
        standin.say(Say::overloaded()).say(Say::status(500, "api_error", "Oh")).say(Say::text("Hi."));
        let steps = steps(standin.model(name(api)).ask(hello(api))).await;
        let waits: Vec<_> = steps
            .iter()
            .filter_map(|step| match step {
                Step::Waiting(wait) => Some((wait.error.kind(), wait.attempt, wait.of)),
                _ => None,
            })
            .collect();
        assert_eq!(waits, [(ErrorKind::Overloaded, 2, 5), (ErrorKind::ProviderFailed, 3, 5)]);
        assert!(matches!(steps.last(), Some(Step::Done(turn)) if turn.text == "Hi."));
    }
}

#[tokio::test]
async fn the_limit_of_attempts_is_kept() {
    let standin = StandIn::start().await.unwrap();
    let retries = Retries { attempts: 3, ..standin.settings().retries };
    let model = standin.model_with("anthropic:m", Settings { retries, ..standin.settings() }).unwrap();
    for _ in 0..9 {
        standin.say(Say::overloaded());
    }
    let error = broken(model.ask(hello(Api::Anthropic))).await.error;
    assert_eq!((error.kind(), standin.seen().len()), (ErrorKind::Overloaded, 3));
}

#[tokio::test]
async fn what_the_provider_asks_for_is_waited_for() {
    let standin = StandIn::start().await.unwrap();
    let soon = httpdate::fmt_http_date(SystemTime::now() - Duration::from_secs(5));
    for (asked, least) in [("0.2", 200), ("0", 0), (soon.as_str(), 0)] {
        standin.say(Say::rate_limited(asked)).say(Say::text("Hi."));
        let began = Instant::now();
        let steps = steps(standin.model("anthropic:m").ask(hello(Api::Anthropic))).await;
        assert!(matches!(steps.last(), Some(Step::Done(_))), "{asked}: {steps:?}");
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(least) && took < Duration::from_secs(5), "{asked}: {took:?}");
    }
    // Longer than anybody waits: told at once.
    standin.say(Say::rate_limited("3600"));
    let error = broken(standin.model("anthropic:m").ask(hello(Api::Anthropic))).await.error;
    assert_eq!(
        (error.kind(), error.retry_after()),
        (ErrorKind::RateLimited, Some(Duration::from_secs(3600)))
    );
}

#[test]
fn waits_grow_differ_and_stay_below_the_limit() {
    let retries = Retries::default();
    let error = ModelError::new(ErrorKind::Overloaded, "x");
    for (made, most) in [(1, 1), (2, 2), (3, 4), (4, 8)] {
        for _ in 0..50 {
            let delay = retries.delay(made, &error).unwrap();
            assert!(
                delay <= Duration::from_secs(most) && delay >= Duration::from_secs(most) / 2,
                "{made}: {delay:?}"
            );
        }
    }
    let delays: std::collections::HashSet<_> = (0..50).map(|_| retries.delay(3, &error)).collect();
    assert!(delays.len() > 10);
    assert_eq!(retries.delay(5, &error), None);
    assert_eq!(retries.delay(1, &ModelError::new(ErrorKind::WrongKey, "x")), None);
    // Nothing answers: one second look, no more.
    let nobody = ModelError::new(ErrorKind::Unreachable, "x");
    assert!(retries.delay(1, &nobody).is_some() && retries.delay(2, &nobody).is_none());
}

#[tokio::test]
async fn an_error_in_a_stream_before_anything_was_said_is_tried_again() {
    let standin = StandIn::start().await.unwrap();
    for api in APIS {
        standin.say(Say::text("").then_error("overloaded_error", "Busy")).say(Say::text("Hi."));
        let steps = steps(standin.model(name(api)).ask(hello(api))).await;
        assert!(
            steps.iter().any(
                |step| matches!(step, Step::Waiting(wait) if wait.error.kind() == ErrorKind::Overloaded)
            )
        );
        assert!(matches!(steps.last(), Some(Step::Done(_))), "{api:?}: {steps:?}");
    }
}

#[tokio::test]
async fn once_something_was_handed_on_only_the_caller_begins_again() {
    let standin = StandIn::start().await.unwrap();
    for api in APIS {
        let before = standin.seen().len();
        let half = Say::text("I look.").call("c1", "read", "{}").then_error("overloaded_error", "Busy");
        standin.say(half);
        let broken = broken(standin.model(name(api)).ask(hello(api))).await;
        assert_eq!(broken.error.kind(), ErrorKind::Overloaded, "{api:?}");
        assert!(broken.error.is_transient());
        let partial = broken.partial.unwrap();
        assert_eq!(partial.text, "I look.");
        assert!(partial.calls.iter().all(|call| call.fault().is_some()) && !partial.calls.is_empty());
        assert_eq!(standin.seen().len(), before + 1);
        // The caller throws it away by asking again.
        standin.say(Say::text("Hi."));
        assert_eq!(standin.model(name(api)).ask(hello(api)).turn().await.unwrap().text, "Hi.");
    }
}

#[tokio::test]
async fn a_cancelled_question_ends_at_once_wherever_it_is() {
    let standin = StandIn::start().await.unwrap();
    let says = [
        Say::text("never comes to its end").cut(Cut::Hang(0)),
        Say::text("never comes to its end").cut(Cut::Hang(500)),
        Say::rate_limited("30"),
    ];
    for say in says {
        standin.say(say);
        let request = hello(Api::Anthropic);
        let cancel = request.cancel.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(80)).await;
            cancel.cancel();
        });
        let began = Instant::now();
        let error = broken(standin.model("anthropic:m").ask(request)).await.error;
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(began.elapsed() < Duration::from_secs(5));
    }
}

#[tokio::test]
async fn silence_ends_in_a_timeout() {
    let standin = StandIn::start().await.unwrap();
    let idle_timeout = Duration::from_millis(100);
    let settings = Settings { idle_timeout, retries: Retries::NONE, ..standin.settings() };
    let model = standin.model_with("openai:m", settings).unwrap();
    for at in [0, 700] {
        standin.say(Say::text("A text of some length, so that it is cut.").cut(Cut::Hang(at)));
        let error = broken(model.ask(hello(Api::OpenAi))).await.error;
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    }
}

#[tokio::test]
async fn text_arrives_while_the_stream_is_still_coming() {
    let standin = StandIn::start().await.unwrap();
    for api in APIS {
        standin.say(
            Say::text("one two three four five six")
                .delivered(Delivery::slow(120, Duration::from_millis(15))),
        );
        let mut reply = standin.model(name(api)).ask(hello(api));
        let began = Instant::now();
        let mut first = None;
        while let Some(step) = reply.next().await {
            if let Step::Event(TurnEvent::TextDelta(_)) = step {
                first.get_or_insert(began.elapsed());
            }
        }
        let whole = began.elapsed();
        assert!(first.unwrap() * 10 < whole * 9, "{api:?}: {first:?} of {whole:?}");
    }
}
