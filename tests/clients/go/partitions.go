package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// partitionAdmin is what administrators ask of partitions: offsets, truncation, elections, replicas, producers.
func partitionAdmin(s *session, admin *kadm.Client, results result) {
	topic := s.topic("partitions", 2)
	producer := s.producer()
	defer producer.Close()
	for number := range 10 {
		delay := int64(1000 * number)
		if number == 6 {
			delay = 50_000
		}
		s.send(producer, []*kgo.Record{{Topic: topic, Value: []byte("v" + strconv.Itoa(number)), Timestamp: after(delay)}})
	}
	open := s.producer(kgo.TransactionalID(s.name("open")))
	defer open.Close()
	check(open.BeginTransaction())
	s.send(open, []*kgo.Record{{Topic: topic, Partition: 1, Value: []byte("open"), Timestamp: after(0)}})
	results["producers"] = producers(s, admin, topic)
	results["list-transactions"] = openTransactions(s, admin)
	check(open.EndTransaction(s.ctx, kgo.TryAbort))
	results["partitions"] = partitionOffsets(s, admin, topic)
	results["delete-records"] = deleteRecords(s, admin, topic)
	results["log-dirs"] = logDirs(s, admin, topic)
	results["reassignments"] = reassignments(s, admin, topic)
}

func both(topic string) kadm.TopicsSet {
	wanted := kadm.TopicsSet{}
	wanted.Add(topic, 0, 1)
	return wanted
}

func producers(s *session, admin *kadm.Client, topic string) any {
	found := result{}
	for partition, described := range must(admin.DescribeProducers(s.ctx, both(topic)))[topic].Partitions {
		check(described.Err)
		states := []string{}
		for _, state := range described.ActiveProducers.Sorted() {
			states = append(states, fmt.Sprintf("id=%v sequence=%d from=%d", state.ProducerID >= 0, state.LastSequence,
				state.CurrentTxnStartOffset))
		}
		found[fmt.Sprint(partition)] = states
	}
	return found
}

func openTransactions(s *session, admin *kadm.Client) any {
	id := s.name("open")
	listed := must(admin.ListTransactions(s.ctx, nil, nil))[id]
	described := must(admin.DescribeTransactions(s.ctx, id))[id]
	check(described.Err)
	return result{
		"listed": listed.State, "described": described.State, "topics": s.ownTopics(described.Topics),
		"same-producer": listed.ProducerID == described.ProducerID,
	}
}

func partitionOffsets(s *session, admin *kadm.Client, topic string) any {
	results := result{}
	for name, found := range map[string]kadm.ListedOffsets{
		"earliest":       must(admin.ListStartOffsets(s.ctx, topic)),
		"latest":         must(admin.ListEndOffsets(s.ctx, topic)),
		"max-timestamp":  must(admin.ListMaxTimestampOffsets(s.ctx, topic)),
		"earliest-local": must(admin.ListLocalLogStartOffsets(s.ctx, topic)),
		"time":           must(admin.ListOffsetsAfterMilli(s.ctx, first+2_500, topic)),
	} {
		place := found[topic][0]
		results[name] = []any{outcome(place.Err), place.Offset, place.Timestamp}
	}
	elected := result{}
	for partition, found := range must(admin.ElectLeaders(s.ctx, kadm.ElectPreferredReplica, both(topic)))[topic] {
		elected[fmt.Sprint(partition)] = outcome(found.Err)
	}
	results["elect"] = elected
	return results
}

func deleteRecords(s *session, admin *kadm.Client, topic string) any {
	results := result{}
	for _, place := range []int64{4, 400} {
		before := kadm.Offsets{}
		before.AddOffset(topic, 0, place, -1)
		found := must(admin.DeleteRecords(s.ctx, before))[topic][0]
		results[fmt.Sprint("before ", place)] = []any{outcome(found.Err), found.LowWatermark}
	}
	results["left"] = len(s.read(topic)["0"])
	return results
}

func logDirs(s *session, admin *kadm.Client, topic string) any {
	replicas := []string{}
	brokers := map[int32]bool{}
	for broker, dirs := range must(admin.DescribeAllLogDirs(s.ctx, both(topic))) {
		brokers[broker] = true
		for _, dir := range dirs {
			check(dir.Err)
			for _, partitions := range dir.Topics {
				for _, replica := range partitions {
					replicas = append(replicas, fmt.Sprint(s.own(replica.Topic), " ", replica.Partition, " ", replica.IsFuture))
				}
			}
		}
	}
	slices.Sort(replicas)
	return result{"brokers": len(brokers), "replicas": replicas}
}

func reassignments(s *session, admin *kadm.Client, topic string) any {
	now := must(admin.ListTopics(s.ctx, topic))[topic].Partitions[0].Replicas
	results := result{}
	for name, replicas := range map[string][]int32{"to-the-same": now, "to-nobody": {999_983}, "cancel": nil} {
		var wanted kadm.AlterPartitionAssignmentsReq
		wanted.Assign(topic, 0, replicas)
		results[name] = outcome(must(admin.AlterPartitionAssignments(s.ctx, wanted))[topic][0].Err)
	}
	results["ongoing"] = len(must(admin.ListPartitionReassignments(s.ctx, both(topic)))[topic])
	return results
}
