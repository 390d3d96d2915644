package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// share has a share group whose member accepts, releases and rejects; and what franz-go makes of a Streams group.
func share(s *session) result {
	return result{"share": answers(s), "streams": absent(
		reflect.TypeFor[*kadm.Client](), "DescribeStreamsGroups", "StreamsGroupOffsets")}
}

// answers shows that accepted and rejected records do not return; a released one does, with a higher delivery count.
func answers(s *session) any {
	topic, group := s.topic("share", 1), s.name("share")
	admin := s.admin()
	defer admin.Close()
	s.fromTheStart(group)
	producer := s.producer()
	defer producer.Close()
	s.send(producer, plain(topic, "v", 3, 1))
	member := s.client(kgo.ShareGroup(group), kgo.ConsumeTopics(topic))
	deliveries := result{}
	until("four deliveries", func() bool {
		fetches := member.PollFetches(s.ctx)
		check(fetches.Err())
		fetches.EachRecord(func(record *kgo.Record) {
			delivery := record.DeliveryCount()
			answer := kgo.AckAccept
			switch {
			case record.Offset == 0:
				answer = kgo.AckReject
			case record.Offset == 1 && delivery == 1:
				answer = kgo.AckRelease
			}
			record.Ack(answer)
			deliveries[fmt.Sprintf("%d/%d", record.Offset, delivery)] = answer.String()
		})
		check(member.FlushAcks(s.ctx))
		return len(deliveries) == 4
	})
	described := must(admin.DescribeShareGroups(s.ctx, group))[group]
	results := result{"deliveries": deliveries, "described": []any{
		described.GroupState, described.Assignor, len(described.Members), s.ownTopics(described.AssignedPartitions())}}
	member.Close()
	return results
}

// fromTheStart sets where a group begins; kadm changes configurations of topics and brokers only.
func (s *session) fromTheStart(group string) {
	change := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	change.Name, change.Value = "share.auto.offset.reset", kmsg.StringPtr("earliest")
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
	resource.Configs = append(resource.Configs, change)
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	request.Resources = append(request.Resources, resource)
	client := s.client()
	defer client.Close()
	response := must(request.RequestWith(s.ctx, client))
	check(kerr.ErrorForCode(response.Resources[0].ErrorCode))
}

// absent shows that a type has none of these methods; once it has one, the scenario fails, and wants to be extended.
func absent(kind reflect.Type, methods ...string) any {
	for _, method := range methods {
		if _, found := kind.MethodByName(method); found {
			panic(fmt.Sprintf("%v has %s now: probe it", kind.Elem(), method))
		}
	}
	return result{"lacks": fmt.Sprintf("%v has no %s", kind.Elem(), strings.Join(methods, " or "))}
}
