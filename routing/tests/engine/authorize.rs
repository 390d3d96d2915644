//! What becomes of requests of which something may not be done.

mod divided;
mod fetches;
mod produced;
mod topic_ids;

use bytes::Bytes;
use skein_filters::authorize::grants::Rule;
use skein_filters::authorize::operation::Operation;
use skein_filters::authorize::operation::Resource::{Group, Topic, TransactionalId};
use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::messages::{
    self, Decodable, Encodable, FindCoordinatorRequest, HeartbeatRequest, InitProducerIdRequest, JoinGroupRequest,
    ListGroupsResponse, StrBytes, list_groups_response::ListedGroup,
};
use skein_protocol::table::Versions;
use skein_routing::engine::{Effect, Move, Note, Reason};
use skein_routing::graph::Target;

use crate::kit::{CLUSTER, LANE, Story, framed, request};

pub(crate) fn text(text: &'static str) -> StrBytes {
    StrBytes::from_static_str(text)
}

/// Topics, groups and transactional ids that begin with "my-" may be used.
pub(crate) fn mine() -> Vec<(&'static str, Rule)> {
    let every = || Operation::ALL.map(|(_, operation)| operation);
    [Topic, Group, TransactionalId].map(|resource| ("ANONYMOUS", Rule::allow(every(), resource, "my-*"))).to_vec()
}

pub(crate) fn story() -> Story {
    Story::under(mine(), Target::Cluster(CLUSTER))
}

impl Story {
    /// The client asks, with the correlation id 7.
    pub(crate) fn asks(&mut self, key: ApiKey, version: i16, message: &impl Encodable) -> Move {
        self.says(&mut framed(&messages::request(key, version, 7, "client", message).unwrap()))
    }

    /// The broker answers the request with this correlation id on its lane.
    pub(crate) fn replies(&mut self, key: ApiKey, version: i16, correlation: i32, message: &impl Encodable) {
        self.answers(LANE, &mut framed(&messages::response(key, version, correlation, message).unwrap()));
    }

    /// The one frame that the client has got.
    pub(crate) fn told<M: Decodable>(&mut self, key: ApiKey, version: i16) -> M {
        let got = self.got();
        assert_eq!(got.len(), 1, "{got:?} {:?}", self.told);
        assert_eq!(got[0][..4], 7i32.to_be_bytes());
        messages::decode(key, version, Direction::ToClient, &Bytes::from(got.concat())).unwrap()
    }

    /// The one frame that the broker has got since.
    pub(crate) fn went<M: Decodable>(&mut self, key: ApiKey, version: i16) -> M {
        let reached = self.reached(LANE);
        assert_eq!(reached.len(), 1, "{:?}", self.told);
        messages::decode(key, version, Direction::ToBroker, &Bytes::from(reached.concat())).unwrap()
    }

    pub(crate) fn nothing_went(&mut self) {
        assert!(self.reached(LANE).is_empty());
    }

    pub(crate) fn is_refused(&self, key: ApiKey, code: i16) -> bool {
        let refused =
            |told: &Effect| matches!(told, Effect::Note(Note::Refused(of, with)) if *of == key && with.0 == code);
        self.told.iter().any(refused)
    }
}

#[test]
fn a_group_that_may_not_be_read_is_not_joined() {
    let mut story = story();
    let join = JoinGroupRequest::default().with_group_id(text("theirs").into()).with_protocol_type(text("consumer"));
    story.asks(ApiKey::JOIN_GROUP, 9, &join);
    story.nothing_went();
    let told: messages::JoinGroupResponse = story.told(ApiKey::JOIN_GROUP, 9);
    assert_eq!(told.error_code, 30);
    assert!(story.is_refused(ApiKey::JOIN_GROUP, 30));
    let join = join.with_group_id(text("my-group").into());
    story.asks(ApiKey::JOIN_GROUP, 9, &join);
    let went: JoinGroupRequest = story.went(ApiKey::JOIN_GROUP, 9);
    assert_eq!(went, join);
}

#[test]
fn a_refusal_leaves_behind_the_answers_to_what_was_asked_before() {
    let mut story = story();
    let beat = |group| HeartbeatRequest::default().with_group_id(text(group).into());
    story.asks(ApiKey::HEARTBEAT, 4, &beat("my-group"));
    story.asks(ApiKey::HEARTBEAT, 4, &beat("theirs"));
    assert!(story.got().is_empty());
    story.replies(ApiKey::HEARTBEAT, 4, 0, &messages::HeartbeatResponse::default());
    let codes: Vec<_> = story.got().iter().map(|frame| frame[9..11].to_vec()).collect();
    assert_eq!(codes, [vec![0, 0], vec![0, 30]]);
}

#[test]
fn a_coordinator_is_told_to_those_who_may_know_what_it_coordinates() {
    let mut story = story();
    for (kind, code) in [(0, 30), (1, 53), (2, 31)] {
        let question = FindCoordinatorRequest::default().with_key(text("theirs")).with_key_type(kind);
        story.asks(ApiKey::FIND_COORDINATOR, 3, &question);
        let told: messages::FindCoordinatorResponse = story.told(ApiKey::FIND_COORDINATOR, 3);
        assert_eq!((told.error_code, told.node_id.0, told.port), (code, -1, -1));
    }
    let question = FindCoordinatorRequest::default().with_key(text("my-tx")).with_key_type(1);
    story.asks(ApiKey::FIND_COORDINATOR, 3, &question);
    let _: FindCoordinatorRequest = story.went(ApiKey::FIND_COORDINATOR, 3);
}

#[test]
fn a_producer_id_is_for_those_who_may_write_something() {
    let question = InitProducerIdRequest::default().with_transactional_id(None);
    for (rules, code) in [(mine(), None), (vec![("*", Rule::allow([Operation::Read], Topic, "*"))], Some(31))] {
        let mut story = Story::under(rules, Target::Cluster(CLUSTER));
        story.asks(ApiKey::INIT_PRODUCER_ID, 5, &question);
        match code {
            None => assert_eq!(story.reached(LANE).len(), 1),
            Some(code) => {
                story.nothing_went();
                let told: messages::InitProducerIdResponse = story.told(ApiKey::INIT_PRODUCER_ID, 5);
                assert_eq!((told.error_code, told.producer_id.0), (code, -1));
            }
        }
    }
}

#[test]
fn groups_that_may_not_be_seen_are_not_listed() {
    let mut story = story();
    story.asks(ApiKey(16), 5, &messages::ListGroupsRequest::default());
    let listed = ["my-one", "theirs", "my-two"].map(|name| ListedGroup::default().with_group_id(text(name).into()));
    story.replies(ApiKey(16), 5, 0, &ListGroupsResponse::default().with_groups(listed.to_vec()));
    let told: ListGroupsResponse = story.told(ApiKey(16), 5);
    let names: Vec<_> = told.groups.iter().map(|group| group.group_id.to_string()).collect();
    assert_eq!(names, ["my-one", "my-two"]);
}

#[test]
fn what_cannot_be_judged_is_not_offered_and_ends_the_connection() {
    let mut story = story();
    story.says(&mut request(ApiKey::API_VERSIONS, 2));
    let offered: messages::ApiVersionsResponse = {
        let got = story.got();
        messages::decode(ApiKey::API_VERSIONS, 2, Direction::ToClient, &Bytes::from(got.concat())).unwrap()
    };
    let has = |key: i16| offered.api_keys.iter().any(|api| api.api_key == key);
    assert!(has(0) && has(1) && has(68));
    for key in [38, 39, 40, 41, 75, 76, 77, 78, 79, 88, 89, 90, 91, 92, 93] {
        assert!(!has(key), "{key} is offered");
    }
    let last = story.says(&mut request(ApiKey(75), 0));
    assert!(matches!(last, Move::Close(Reason::NotOffered { key: 75, .. })), "{last:?}");
    story.nothing_went();
}

#[test]
fn what_has_no_answer_that_could_refuse_it_ends_the_connection() {
    let mut story = story();
    let Versions { to, .. } = skein_protocol::table::Table::get().api(ApiKey(51)).unwrap().request.versions;
    let last = story.says(&mut request(ApiKey(51), to));
    assert!(matches!(last, Move::Close(Reason::Forbidden { key: ApiKey(51) })), "{last:?}");
    story.nothing_went();
}
