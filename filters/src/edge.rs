//! What changes identity fields as they pass.

use skein_protocol::Meanings;
use skein_protocol::code::Code;
use skein_protocol::ids::{ApiKey, Direction, VirtualNodeId};
use skein_protocol::passage::{Edit, Value};
use skein_protocol::table::Fact;
use skein_protocol::varint::Inline;

use crate::producer::Tag;

/// What is remembered of one message while it passes.
#[derive(Clone, Debug, Default)]
pub struct Memo {
    /// The kind of thing that the resource names behind it name; set by a resource type.
    pub resource_type: Option<i64>,
    /// The broker whose address follows; set by a broker id, as clients see it. `None` if clients cannot reach it.
    pub node: Option<VirtualNodeId>,
    /// Whether the transactional id was null; set by it.
    pub untransactional: bool,
    /// Whether the broker before was one that clients cannot reach; set by a broker id.
    pub is_hidden: bool,
    /// How many brokers were left out because no address is declared for them.
    pub unlisted: u32,
    /// How many of those an error code beside them explains.
    pub explained: u32,
    /// The broker that was left out last.
    pub last_unlisted: Option<VirtualNodeId>,
    /// The code with which a filter refuses all that the message names; set by what stands in front of it.
    pub refused_all: Option<Code>,
    /// The code with which a filter refuses what is named next, or has refused it; set by a name or an index.
    pub refused: Option<Code>,
    /// The code with which a filter refused something that has passed, if it did.
    pub denied: Option<Code>,
    /// Partitions that have been named so far.
    pub partitions: usize,
    /// The code of what the topic's partitions are refused with that are named next, since it is not where the request goes.
    pub elsewhere: Option<Code>,
    /// The partitions, by their number in the request, that were refused on their way, and with which codes.
    pub spoilt: Vec<(usize, Code)>,
    /// The topic that was named last; set by a name in front of a topic's id.
    pub topic: Inline,
    /// What the client may do with what was named last, a bit for each operation; set by a name in an answer.
    pub may: u32,
}

/// What an edge may look at besides the field.
#[derive(Clone, Copy, Debug)]
pub struct Cx {
    /// The API.
    pub key: ApiKey,
    /// Which way the message goes.
    pub way: Direction,
    /// The tag of the cluster at the end of the path.
    pub tag: Option<Tag>,
}

/// One side of it is what clients see, the other what is behind: a bijection of fields.
///
/// For every field, `edit` towards the client undoes `edit` towards the broker.
pub trait Edge: Send + Sync {
    /// The meanings that it may change in messages of this API and direction.
    fn wants(&self, key: ApiKey, way: Direction) -> Meanings;

    /// The most bytes by which it makes a topic name longer, in this direction; `None` if it leaves every length as it is.
    fn growth(&self, way: Direction) -> Option<u32>;

    /// Decides about a field.
    fn edit(&self, memo: &mut Memo, cx: &Cx, fact: &'static Fact, value: Value<'_>) -> Edit;

    /// The producer id that a transactional batch gets.
    fn producer_id(&self, _cx: &Cx, _id: i64) -> Option<i64> {
        None
    }
}
