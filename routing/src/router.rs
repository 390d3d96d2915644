//! What a router decides.

use std::sync::Arc;

use bytes::Bytes;
use skein_filters::{Client, Edge};
use skein_protocol::code::Code;
use skein_protocol::frame::Head;
use skein_protocol::ids::{ApiKey, VirtualNodeId};
use skein_protocol::varint::Inline;

/// A route of a router. Its number never changes, whatever becomes of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RouteId(pub u16);

/// Where a request goes, decided from its head and the address that it came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// To one broker, while it arrives.
    Stream(RouteId),
    /// To one broker, once it is complete; at most so many bytes. Its answer streams.
    Gather(RouteId, u32),
    /// To several: it is completed, at most so many bytes, and then routed. A barrier.
    Whole(u32),
    /// Nowhere: it is counted off, and answered with this code.
    Refuse(Code),
}

/// A request that is complete: a frame without its length.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its head.
    pub head: Head,
    /// The node that it was sent to, as this level sees it; `None` on a bootstrap address.
    pub at: Option<VirtualNodeId>,
    /// Header and body.
    pub frame: Bytes,
}

/// A part of a request, for one route. Key and version are those of the request; the engine gives it its correlation id.
#[derive(Clone, Debug)]
pub struct Leg {
    /// The route.
    pub route: RouteId,
    /// The node, as the route's target sees it; `None` for any.
    pub at: Option<VirtualNodeId>,
    /// Header and body, in the words of this level: the engine applies the route's edge.
    pub frame: Bytes,
}

/// What became of a leg: the answer's frame without its length, in the words of this level; or why there is none.
pub type Reply = Result<Bytes, Lost>;

/// A leg whose answer never comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The broker cannot have acted on it: it may be asked again elsewhere.
    Unsent,
    /// It went out whole: the broker may have acted on it.
    Unknown,
}

/// What to do once all legs are answered or lost, in the order of the legs.
pub type Then = Box<dyn FnOnce(Vec<Reply>) -> Step + Send>;

/// The next step of a request that is complete.
pub enum Step {
    /// This frame, without its length, is the answer; the engine sets the correlation id.
    Answer(Bytes),
    /// There is no answer: a Produce with acks = 0.
    Silence,
    /// Send these, then go on.
    Send {
        /// At least one.
        legs: Vec<Leg>,
        /// What follows.
        then: Then,
    },
    /// Answer with this code for all that was asked.
    Refuse(Code),
}

/// What names are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owned {
    /// Topics.
    Topic,
    /// Groups.
    Group,
    /// Transactional ids.
    TransactionalId,
}

/// Whose something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// That of whatever route it comes to: this level has no say.
    Any,
    /// One route's.
    Route(RouteId),
    /// No route's: nobody is to see it.
    Nobody,
}

/// What a router may look at besides the request.
pub struct Cx<'a> {
    /// Who asks.
    pub client: &'a Client,
    /// What the topic with an id is called at this level; `None`: nobody knows it.
    pub names: &'a dyn Fn([u8; 16]) -> Option<Inline>,
}

/// One level of the graph. Its edges are bijections; its decisions are pure functions of what it is given.
pub trait Router: Send + Sync {
    /// Whether topics, groups and transactional ids belong to one route each: what one of them has the others do not.
    fn weaves(&self) -> bool {
        false
    }

    /// Whose a name is, as this level has it.
    fn owner(&self, of: Owned, name: &[u8]) -> Owner {
        let _ = (of, name);
        Owner::Any
    }

    /// Whether it has a way for an API.
    fn offers(&self, key: ApiKey) -> bool {
        let _ = key;
        true
    }

    /// The route of what is for one broker and comes to none.
    fn fallback(&self) -> Option<RouteId>;

    /// The course of a request that came to node `at` of this level; `None` for a bootstrap address.
    fn course(&self, head: &Head, at: Option<VirtualNodeId>, client: &Client) -> Course;

    /// The route of a node of this level, and the node there. `None`: no route's.
    fn node(&self, at: VirtualNodeId) -> Option<(RouteId, VirtualNodeId)>;

    /// The node of this level that stands for a node behind a route. `None`: it has none.
    fn outer(&self, route: RouteId, inner: VirtualNodeId) -> Option<VirtualNodeId>;

    /// What changes fields between this level and the target of a route.
    fn edge(&self, route: RouteId) -> Arc<dyn Edge>;

    /// Routes a request whose course was [`Course::Whole`].
    fn route(&self, request: Request, cx: &Cx<'_>) -> Step;
}
