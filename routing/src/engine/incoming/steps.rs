//! The steps of a login that Skein judges: each is completed, given to the shell, and answered with what the shell says.

use std::time::Instant;

use bytes::Bytes;
use skein_protocol::code::Code;
use skein_protocol::frame::{self, Head};
use skein_protocol::outline::Outline;
use skein_protocol::varint::{narrow, wide};

use super::{Effect, Engine, Move, Reason, Step};
use crate::apis::sasl;
use crate::engine::Note;
use crate::engine::login::{Here, HereStep, LEEWAY, Login, Verdict};
use crate::engine::slots::{SlotId, SlotState};

impl Engine {
    /// A step of a login.
    pub(super) fn login_step(&mut self, now: Instant, head: &Head, input: &[u8]) -> Step {
        let cap = self.door.limits.frame_before_login;
        if let Some(step) = self.complete(now, head, cap, input) {
            return step;
        }
        let body = input.get(frame::LENGTH..frame::LENGTH + wide(head.length)).unwrap_or(&[]);
        let asked = match sasl::asked(head, &Bytes::copy_from_slice(body)) {
            Ok(asked) => asked,
            Err(sasl::Unread::Malformed(malformed)) => return self.end(Reason::Malformed(malformed)),
            Err(sasl::Unread::Undecoded { .. }) => {
                return self.end(Reason::NotOffered { key: head.key.0, version: head.version });
            }
        };
        self.arrived();
        let slot = self.slots.push(*head, Outline::off());
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.state = SlotState::Asked;
        }
        let by = now + self.door.limits.patience;
        if let Login::Here(here) = &mut self.login {
            if here.step == HereStep::Idle {
                here.begins(now);
            }
            here.step = HereStep::Judging(slot, by);
        }
        self.effects.push_back(Effect::Judge(asked));
        Step::Then(Move::Take(narrow(frame::LENGTH) + head.length))
    }

    /// A step of a login has been judged: what [`Effect::Judge`] asked for. Ignored if nothing is to be judged.
    pub fn judged(&mut self, now: Instant, verdict: Verdict) {
        let Login::Here(here) = &mut self.login else { return };
        let HereStep::Judging(slot, _) = here.step else { return };
        here.step = HereStep::Idle;
        let Some(head) = self.slots.get_mut(slot).map(|slot| slot.head) else { return };
        let is_same = |principal: &str| here.principal.as_deref().is_none_or(|before| before == principal);
        let frame = match verdict {
            Verdict::Chosen(offered) => {
                here.step = HereStep::Chosen;
                sasl::handshake_answer(&head, Code::NONE, &offered)
            }
            Verdict::NotOffered(offered) => {
                let frame = sasl::handshake_answer(&head, Code::UNSUPPORTED_SASL_MECHANISM, &offered);
                return self.login_refused(slot, &frame, Code::UNSUPPORTED_SASL_MECHANISM);
            }
            Verdict::Challenge(token) => {
                here.step = HereStep::Chosen;
                sasl::token_answer(&head, sasl::Answer { token, ..sasl::Answer::default() })
            }
            Verdict::LoggedIn { token, principal, lifetime } if is_same(&principal) => {
                here.expires = lifetime.and_then(|lifetime| now.checked_add(lifetime.saturating_add(LEEWAY)));
                here.principal = Some(principal);
                sasl::token_answer(&head, sasl::Answer { token, lifetime, ..sasl::Answer::default() })
            }
            Verdict::LoggedIn { .. } => {
                let told = "A login that is repeated must be that of the same principal.";
                return self.token_refused(slot, &head, told.to_owned());
            }
            Verdict::Refused(told) => return self.token_refused(slot, &head, told),
            Verdict::Unjudged => return self.set(slot, SlotState::Doomed(Reason::LoginUnjudged)),
        };
        if let Login::Here(Here { principal, .. }) = &self.login {
            self.client.principal.clone_from(principal);
        }
        self.answered(slot, &frame);
    }

    fn token_refused(&mut self, slot: SlotId, head: &Head, told: String) {
        let code = Code::SASL_AUTHENTICATION_FAILED;
        let answer = sasl::Answer { code: code.0, message: Some(told), ..sasl::Answer::default() };
        let frame = sasl::token_answer(head, answer);
        self.login_refused(slot, &frame, code);
    }

    /// A login has failed: its client is told, and the connection ends, as with a broker.
    fn login_refused(&mut self, slot: SlotId, frame: &[u8], code: Code) {
        if let Some(asked) = self.slots.get_mut(slot) {
            self.effects.push_back(Effect::Note(Note::Refused(asked.head.key, code)));
        }
        self.close(Reason::LoginRefused);
        self.answered(slot, frame);
    }

    /// A step that was not judged in time will not be.
    pub(in crate::engine) fn late_judgement(&mut self, now: Instant) {
        if self.login.judged_by().is_some_and(|by| by <= now) {
            self.judged(now, Verdict::Unjudged);
        }
    }
}
