package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// stay is there for longer than a login lasts: it writes all the while, and a group reads that and commits.
func stay(s *session) result {
	topic := s.topic("stay", 2)
	producer := s.producer()
	defer producer.Close()
	member := s.client(kgo.ConsumerGroup(s.name("stay")), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	answers, failures, read := map[string]bool{}, map[string]bool{}, map[string]bool{}
	done := make(chan int)
	go func() {
		number := 0
		for end := time.Now().Add(time.Duration(s.seconds) * time.Second); time.Now().Before(end); number++ {
			record := &kgo.Record{Topic: topic, Partition: int32(number % 2), Value: []byte(strconv.Itoa(number))}
			answers[outcome(producer.ProduceSync(s.ctx, record).FirstErr())] = true
			time.Sleep(50 * time.Millisecond)
		}
		done <- number
	}()
	written := -1
	for written < 0 || len(read) < written {
		check(s.ctx.Err())
		soon, end := context.WithTimeout(s.ctx, 100*time.Millisecond)
		fetches := member.PollFetches(soon)
		end()
		fetches.EachError(func(_ string, _ int32, err error) {
			// Before it has joined, a coordinator that is new may be loading still.
			if !errors.Is(err, context.DeadlineExceeded) && len(read) > 0 {
				failures[outcome(err)] = true
			}
		})
		fetches.EachRecord(func(record *kgo.Record) { read[string(record.Value)] = true })
		if err := member.CommitUncommittedOffsets(s.ctx); err != nil {
			failures[outcome(err)] = true
		}
		select {
		case written = <-done:
		default:
		}
	}
	member.Close()
	return result{"stay": result{"answers": sorted(answers), "errors": sorted(failures), "read": len(read) == written}}
}

func sorted(names map[string]bool) []string {
	list := []string{}
	for name := range names {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}
