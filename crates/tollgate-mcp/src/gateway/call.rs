//! `tools/call`: the call walks the one path, with its client as the peer that is told and asked.

use std::{borrow::Cow, sync::Arc};

use serde_json::{json, value::RawValue};
use tokio_util::sync::CancellationToken;
use tollgate::{
    Proposed, Scope, Settled,
    guard::TraceParent,
    outcome::RefusalCode,
    tool::{Answers, IdempotencyKey},
};

use super::{
    Gateway, answer, ask, catalogue,
    message::{self, Id, RpcError, code},
    peer::ClientPeer,
    revision::{Brought, Client, Era},
    rounds::{Round, SameCall, TakenUp},
    server::{Going, Reply},
    session::{Outlet, Session, UnderWay},
    walk::{Stopped, Walk},
};

/// A call and the client behind it.
pub(super) struct From<'a> {
    pub(super) session: &'a Arc<Session>,
    pub(super) client: &'a Arc<Client>,
    pub(super) outlet: &'a Arc<dyn Outlet>,
    pub(super) brought: &'a Brought<'a>,
}

impl Gateway {
    /// Begins a call. What can be answered at once is.
    pub(super) fn call(&self, id: Id<'_>, from: &From<'_>) -> Result<Going, RpcError> {
        let brought = from.brought;
        let named = brought.name().ok_or_else(|| RpcError::invalid_params("a call names its tool"))?;
        let (name, arguments) = match self.own_tool(id, &named, from) {
            Own::No => (self.label(&named, from), brought.arguments),
            Own::Answered(reply) => return Ok(Going::Done(reply)),
            Own::Inner(name, arguments) => (Cow::Owned(name), arguments),
        };
        let arguments = arguments.map_or("{}", RawValue::get);
        let number = from.session.number();
        let mut proposed = Proposed::new(format!("{number:x}"), name.as_ref(), arguments);
        proposed.idempotency_key = from.brought.meta.key.as_deref().map(IdempotencyKey::new);
        match from.client.era {
            Era::Session => self.in_session(id, proposed, from),
            Era::Stateless => {
                let same = SameCall::new(&from.session.identity.caller, &name, arguments);
                let answers = answers(brought.responses)?;
                match brought.state()? {
                    Some(state) => self.taken_up(id, &state, same, answers, from),
                    None => self.in_rounds(id, proposed, same, without_approval(answers), from),
                }
            }
        }
    }

    /// The name a tool goes by here, for the one its client knows it by.
    fn label<'a>(&self, name: &'a str, from: &From<'_>) -> Cow<'a, str> {
        if !self.inner.settings.plain_names {
            return Cow::Borrowed(name);
        }
        let listed = self.listed(from.session.identity.route.as_ref());
        listed.plain.get(name).map_or(Cow::Borrowed(name), |label| Cow::Owned(label.to_string()))
    }

    fn in_session(&self, id: Id<'_>, proposed: Proposed, from: &From<'_>) -> Result<Going, RpcError> {
        let token = CancellationToken::new();
        let under_way = from.session.begin(id.raw(), &token)?;
        let peer = Arc::new(ClientPeer::live(from.session, from.client, from.outlet, &from.brought.meta));
        let scope = self.scope(from, peer.clone());
        let (gateway, stopped) = (self.clone(), token.clone());
        // Under way until it ends: also when the connection it came by does not last so long.
        let begun = Walk::begin(async move {
            let settled = gateway.inner.gate.call_until(&scope, proposed, &token).await;
            drop(under_way);
            settled
        });
        let walk = match begun {
            Ok(settled) => return Ok(Going::Done(self.reply(id, &settled, &peer))),
            Err(walk) => walk,
        };
        let (gateway, id) = (self.clone(), Box::<str>::from(id.raw()));
        Ok(Going::On(Box::pin(async move {
            let id = Id::again(&id);
            let mut reply = match walk.await {
                Ok(settled) => gateway.reply(id, &settled, &peer),
                Err(Stopped) => stopped_with_gateway(id),
            };
            reply.unwanted = stopped.is_cancelled();
            reply
        })))
    }

    fn in_rounds(
        &self,
        id: Id<'_>,
        proposed: Proposed,
        same: SameCall,
        brought: Answers,
        from: &From<'_>,
    ) -> Result<Going, RpcError> {
        let token = CancellationToken::new();
        let under_way = from.session.begin(id.raw(), &token)?;
        let (peer, asks) = ClientPeer::in_rounds(from.client, from.outlet, &from.brought.meta, brought);
        let peer = Arc::new(peer);
        let scope = self.scope(from, peer.clone());
        let (gateway, stop) = (self.clone(), token.clone());
        let begun = Walk::begin(async move { gateway.inner.gate.call_until(&scope, proposed, &token).await });
        Ok(match begun {
            Ok(settled) => Going::Done(self.reply(id, &settled, &peer)),
            Err(walk) => self.going_on(id, same, Round::new(walk, asks, peer, stop), under_way),
        })
    }

    fn taken_up(
        &self,
        id: Id<'_>,
        state: &str,
        same: SameCall,
        answers: Answers,
        from: &From<'_>,
    ) -> Result<Going, RpcError> {
        Ok(match self.inner.rounds.take_up(state, &same, answers)? {
            TakenUp::GoesOn(round) => {
                let under_way = from.session.begin(id.raw(), round.token())?;
                self.going_on(id, same, round, under_way)
            }
            TakenUp::Again(asked) => Going::Done(Reply::result(id, |out| message::push(out, &asked))),
        })
    }

    /// The call goes on until it ends, or has to know something first.
    fn going_on(&self, id: Id<'_>, same: SameCall, mut round: Round, under_way: UnderWay) -> Going {
        let (gateway, id) = (self.clone(), Box::<str>::from(id.raw()));
        Going::On(Box::pin(async move {
            let (id, stopped) = (Id::again(&id), round.token().clone());
            let mut reply = tokio::select! {
                biased;
                settled = &mut round.walk => match settled {
                    Ok(settled) => gateway.reply(id, &settled, &round.peer),
                    Err(Stopped) => stopped_with_gateway(id),
                },
                ask = round.asks.next() => {
                    let asked = gateway.inner.rounds.park(same, ask, round);
                    Reply::result(id, |out| message::push(out, &asked))
                }
            };
            drop(under_way);
            reply.unwanted = stopped.is_cancelled();
            reply
        }))
    }

    /// The answer of a settled call. A tool nobody has is an error of the protocol, all else is for the model to read.
    fn reply(&self, id: Id<'_>, settled: &Settled, peer: &ClientPeer) -> Reply {
        let client = peer.client();
        if let Some(refusal) = settled.refusal() {
            if refusal.code == RefusalCode::UnknownTool {
                return Reply::error(Some(id), &catalogue::unknown(&refusal.reason, refusal.hint.as_deref()));
            }
        } else if let (Some(capability), Some(_), Era::Stateless) =
            (peer.lacking(), settled.failure(), client.era)
        {
            let error = RpcError {
                data: Some(json!({"requiredCapabilities": {capability: {}}})),
                ..RpcError::new(
                    code::MISSING_CAPABILITY,
                    format!("the call needs a client with `{capability}`"),
                )
            };
            return Reply::error(Some(id), &error);
        }
        let digest = settled.refusal().and_then(|refusal| refusal.digest.as_ref());
        let way_on = digest.and_then(|digest| self.inner.asking.way_on(digest.as_str()));
        let promised = settled.offloaded.is_some() && self.promises(&settled.tool);
        Reply::result(id, |out| answer::write(out, settled, client, way_on.as_deref(), promised))
    }

    /// True when clients were told that the tool gives a structured result.
    fn promises(&self, label: &str) -> bool {
        let snapshot = self.inner.gate.snapshot();
        let found = snapshot.reachable(None).find(|(name, _)| ***name == *label);
        found.is_some_and(|(_, spec)| {
            spec.output_schema.as_ref().is_some_and(|schema| schema["type"] == "object")
        })
    }

    fn scope(&self, from: &From<'_>, peer: Arc<ClientPeer>) -> Arc<Scope> {
        let mut scope = self.inner.scope.clone();
        scope.run = from.session.run.clone();
        scope.caller = from.session.identity.caller.clone();
        scope.route = from.session.identity.route.clone().or(scope.route);
        scope.interactive = from.client.shows_forms();
        scope.traced_under = from.brought.meta.traceparent.as_deref().and_then(TraceParent::parse);
        scope.peer = Some(peer);
        Arc::new(scope)
    }

    /// One of the three tools that stand for many, where they are in the client's list.
    fn own_tool<'a>(&self, id: Id<'_>, name: &str, from: &From<'a>) -> Own<'a> {
        if !matches!(name, catalogue::SEARCH | catalogue::DESCRIBE | catalogue::CALL) {
            return Own::No;
        }
        let route = from.session.identity.route.as_ref().or(self.inner.scope.route.as_ref());
        let listed = self.listed(from.session.identity.route.as_ref());
        if !listed.by_search {
            return Own::No;
        }
        let own = |answer| Own::Answered(Reply::result(id, |out| answer::own(out, &answer, from.client)));
        match name {
            catalogue::CALL => match catalogue::unwrap(from.brought.arguments) {
                Ok(inner) => Own::Inner(inner.name, inner.arguments),
                Err(reason) => own(Err(reason)),
            },
            _ => own(catalogue::look(name, from.brought.arguments, listed.snapshot(), route)),
        }
    }
}

/// What became of a call that may be of one of our own tools.
enum Own<'a> {
    No,
    Answered(Reply),
    Inner(String, Option<&'a RawValue>),
}

fn answers(responses: Option<&RawValue>) -> Result<Answers, RpcError> {
    let Some(responses) = responses else { return Ok(Answers::new()) };
    serde_json::from_str(responses.get())
        .map_err(|error| RpcError::invalid_params(format!("`inputResponses` must be an object: {error}")))
}

/// A yes to a question of ours counts only where the question was asked: by the state that came with it.
fn without_approval(mut answers: Answers) -> Answers {
    answers.remove(ask::KEY);
    answers
}

fn stopped_with_gateway(id: Id<'_>) -> Reply {
    Reply::error(Some(id), &RpcError::new(code::INTERNAL, "the call was stopped with the gateway"))
}
