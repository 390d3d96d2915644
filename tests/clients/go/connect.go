package main

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	connectPartitions = 2
	connectRecords    = 20
)

// connect gets in: a topic, some records, and a group that reads them and commits.
func connect(s *session) result {
	topic, group := s.topic("connect", connectPartitions), s.name("connect")
	producer := s.producer()
	defer producer.Close()
	written := s.send(producer, plain(topic, "value", connectRecords, connectPartitions))
	member := s.client(kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	read, count := map[string][]string{}, 0
	until("all records", func() bool {
		fetches := member.PollFetches(s.ctx)
		check(fetches.Err())
		fetches.EachRecord(func(record *kgo.Record) {
			key := strconv.Itoa(int(record.Partition))
			read[key] = append(read[key], string(record.Value))
			count++
		})
		return count >= connectRecords
	})
	check(member.CommitUncommittedOffsets(s.ctx))
	committed := result{}
	for partition, place := range member.CommittedOffsets()[topic] {
		committed[strconv.Itoa(int(partition))] = place.Offset
	}
	member.Close()
	return result{"connect": result{"written": written, "read": read, "committed": committed}}
}

// login asks the cluster one question: does it let us in?
func login(s *session) result {
	client := s.client(kgo.RequestRetries(0))
	defer client.Close()
	return result{"login": outcome(client.Ping(s.ctx))}
}
