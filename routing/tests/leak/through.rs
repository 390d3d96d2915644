//! Sends a frame through the path: complete, as it arrives, and back.

use std::collections::VecDeque;

use skein_filters::Tag;
use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::outline::Outline;
use skein_protocol::passage::{Announce, Edit, Editor, Passage, Value, announce};
use skein_protocol::rewrite::{Rewritten, rewrite};
use skein_protocol::sample::feed::{Pieces, feed};
use skein_protocol::sample::{Dice, SampleValue, expected_meanings};
use skein_protocol::table::{Fact, Layout};
use skein_protocol::varint::{Inline, narrow};
use skein_routing::apis::manner::{self, Place};
use skein_routing::graph::Manner;
use skein_routing::path::{Lengths, Seen, Translator};

use crate::exceptions::Met;
use crate::oracle::Becomes;
use crate::world::World;

pub(crate) fn complete(world: &World, key: ApiKey, layout: &'static Layout, frame: &[u8]) -> Vec<u8> {
    let way = layout.direction();
    let mut seen = Seen::default();
    let mut editor = Translator::new(&world.path, key, way, Some(world.tag), &mut seen);
    rewritten(layout, world.path.wants(key, way), frame, &mut editor)
}

fn rewritten(
    layout: &'static Layout, wants: skein_protocol::Meanings, frame: &[u8], editor: &mut impl Editor,
) -> Vec<u8> {
    let mut bytes = frame.to_vec();
    match rewrite(layout, wants, &mut bytes, editor, &mut Outline::off()).unwrap() {
        Rewritten::InPlace => bytes,
        Rewritten::Anew(other) => other,
    }
}

/// The frame in one piece, byte by byte, and in pieces of any size, which come to the same. `None`: it is completed.
pub(crate) fn streamed(
    world: &World, key: ApiKey, layout: &'static Layout, frame: &[u8], dice: &mut Dice,
) -> Option<(Lengths, Vec<u8>)> {
    let way = layout.direction();
    // Other requests are completed, and changed as one.
    let streams = way == Direction::ToClient || manner::place(key) == Place::Broker(Manner::Stream);
    let lengths = world.path.lengths(key, layout);
    if !streams || lengths == Lengths::Any {
        return None;
    }
    let (length, growth) = (narrow(frame.len()), world.path.growth(way).unwrap());
    let longer = match lengths {
        Lengths::Names => match announce(layout, length, growth, frame).unwrap() {
            Announce::Longer(longer) => longer,
            other => panic!("a whole frame of few names: {other:?}"),
        },
        Lengths::Kept | Lengths::Any => 0,
    };
    let pass = |pieces| {
        let mut passage = Passage::new(layout, length, world.path.wants(key, way));
        if longer > 0 {
            passage = passage.with_room(longer);
        }
        let (mut seen, mut window, mut out) = (Seen::default(), Vec::new(), Vec::new());
        let mut editor = Translator::new(&world.path, key, way, Some(world.tag), &mut seen);
        feed(passage, frame, &mut editor, &mut Outline::default(), pieces, &mut window, &mut out).unwrap();
        assert_eq!(narrow(out.len()), length + longer, "the frame has another length than was announced");
        out
    };
    let whole = pass(Pieces::Whole);
    assert_eq!(whole, pass(Pieces::Bytes), "it depends on the pieces");
    assert_eq!(whole, pass(Pieces::Random(dice)), "it depends on the pieces");
    Some((lengths, whole))
}

/// Translates what came out back again; what is lost is put back from `fields`.
pub(crate) fn back(
    world: &World, key: ApiKey, layout: &'static Layout, output: &[u8], fields: &[Becomes], met: &mut Met,
) -> Vec<u8> {
    let reversed = match layout.direction() {
        Direction::ToBroker => Direction::ToClient,
        Direction::ToClient => Direction::ToBroker,
    };
    let mut seen = Seen::default();
    let translator = Translator::over(world.path.edges(), key, reversed, Some(world.tag), &mut seen);
    let originals = fields.iter().cloned().collect();
    let mut undo = Undo { translator, key, way: layout.direction(), tag: world.tag, originals, met };
    rewritten(layout, expected_meanings(), output, &mut undo)
}

/// The edges in the other direction. What crossed unchanged stays, and what was lost comes from the original.
struct Undo<'a> {
    translator: Translator<'a>,
    key: ApiKey,
    way: Direction,
    tag: Tag,
    originals: VecDeque<Becomes>,
    met: &'a mut Met,
}

impl Editor for Undo<'_> {
    fn edit(&mut self, fact: &'static Fact, value: Value<'_>) -> Edit {
        let edit = self.translator.edit(fact, value);
        let Becomes { before, after } = self.originals.pop_front().unwrap();
        let at = (self.key, self.way);
        if self.met.passes(at, fact) {
            return Edit::Keep;
        }
        if before.value == after || !self.met.lost(at, fact, &after) {
            // What is the same on both sides must be so for the edges too, and is seen if it is not.
            return edit;
        }
        match before.value {
            SampleValue::Int(number) => Edit::Int(number),
            SampleValue::Id(id) => Edit::Id(id),
            SampleValue::Text(text) => Edit::Text(Inline::from_slice(&text)),
            SampleValue::Null | SampleValue::Any => Edit::Null,
        }
    }

    fn producer_id(&mut self, id: i64) -> Option<i64> {
        (self.way == Direction::ToBroker).then(|| self.tag.tagged(id))
    }
}
