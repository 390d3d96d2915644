//! An answer of ours is a valid response that names what the request named, and carries the code.

use std::collections::BTreeSet;

use super::{Case, all, by, for_every_message, keep, rewritten};
use crate::answer::refusal;
use crate::code::Code;
use crate::edit::{Edit, Value};
use crate::ids::{ApiKey, Direction};
use crate::meaning::Meaning;
use crate::outline::{OUTLINED, Outline};
use crate::rewrite::rewrite;
use crate::sample::{Recipe, SampleValue};
use crate::table::Fact;

/// The values of a request or response that an answer must name again, by meaning.
fn names(fields: impl Iterator<Item = (Meaning, SampleValue)>) -> BTreeSet<(&'static str, String)> {
    let named = fields.filter(|(meaning, value)| OUTLINED.has(*meaning) && *value != SampleValue::Null);
    named.map(|(meaning, value)| (meaning.word(), format!("{value:?}"))).collect()
}

#[test]
fn zzz() {
    let mut nones: std::collections::BTreeMap<String, (u32, u32)> = Default::default();
    let mut missing: BTreeSet<String> = Default::default();
    for_every_message(40, &Recipe::PLAIN, |case| {
        if case.direction == Direction::ToClient {
            return;
        }
        let mut outline = Outline::default();
        let mut frame = case.sample.frame.clone();
        rewrite(case.layout, all(), &mut frame, &mut by(keep), &mut outline).unwrap();
        let answer = refusal(case.key, case.version, 7, &outline, Code::NOT_COORDINATOR);
        let entry = nones.entry(format!("{:?}", case.key)).or_default();
        let Some(answer) = answer else {
            entry.0 += 1;
            return;
        };
        entry.1 += 1;
        let layout = crate::table::Table::get().layout(case.key, case.version, Direction::ToClient).unwrap();
        let mut found = Vec::new();
        let mut codes = 0;
        rewritten(
            layout,
            &answer,
            &mut by(|fact: &'static Fact, value: Value<'_>| {
                if fact.meaning == Meaning::Error && value == Value::Int(16) {
                    codes += 1;
                }
                found.push((fact.meaning, super::sampled(value)));
                Edit::Keep
            }),
        )
        .unwrap_or_else(|error| panic!("{}: {error} {answer:02x?}", case.name));
        if codes == 0 {
            missing.insert(format!("{:?} no code", case.key));
        }
        let has = layout.meanings();
        let asked = names(case.sample.expected.iter().filter(|field| has.has(field.fact.meaning)).map(|field| (field.fact.meaning, field.value.clone())));
        let got = names(found.into_iter());
        for (meaning, value) in asked.difference(&got) {
            let _ = value;
            missing.insert(format!("{:?} v{} {meaning} {:?}", case.key, case.version, case.sample.expected.iter().filter(|f|f.fact.meaning.word()==*meaning).map(|f|f.fact.path.clone()).collect::<BTreeSet<_>>()));
        }
    });
    for (key, (none, some)) in nones {
        if none > 0 {
            eprintln!("{key}: {none} of {}", none + some);
        }
    }
    for line in missing {
        eprintln!("{line}");
    }
}
