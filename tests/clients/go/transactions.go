package main

import (
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

var levels = map[string]kgo.IsolationLevel{
	"read_committed": kgo.ReadCommitted(), "read_uncommitted": kgo.ReadUncommitted(),
}

// transactions are committed, aborted, open, with a group's offsets, and of two producers under one id.
func transactions(s *session) result {
	return result{"transactions": result{"outcomes": outcomes(s), "offsets": offsets(s), "fenced": fenced(s)}}
}

// stableEnds gives where readers of committed records see the partitions end.
func (s *session) stableEnds(topic string) map[int32]int64 {
	return s.endsBy(topic, (*kadm.Client).ListCommittedOffsets)
}

// awaitStable waits until no transaction is open.
func (s *session) awaitStable(topic string) {
	until("no open transaction", func() bool {
		stable, ends := s.stableEnds(topic), s.ends(topic)
		return stable[0] == ends[0] && stable[1] == ends[1]
	})
}

// outcomes has a commit, an abort, a commit; then one that is open while others look.
func outcomes(s *session) any {
	topic := s.topic("outcomes", 2)
	producer := s.producer(kgo.TransactionalID(s.name("outcomes")))
	defer producer.Close()
	answers := result{}
	for _, what := range []string{"first commit", "abort", "second commit", "open"} {
		check(producer.BeginTransaction())
		answers[what] = s.send(producer, plain(topic, what, 6, 2))
		if what != "open" {
			check(producer.EndTransaction(s.ctx, what != "abort"))
			// So that no reader comes before the markers do.
			s.awaitStable(topic)
		}
	}
	results := result{"acknowledged": answers, "open": []any{s.stableEnds(topic), s.ends(topic)}}
	check(producer.EndTransaction(s.ctx, kgo.TryCommit))
	s.awaitStable(topic)
	for name, level := range levels {
		results[name] = s.read(topic, kgo.FetchIsolationLevel(level))
	}
	return results
}

// offsets consumes, transforms, produces: the group's offsets are part of the transaction.
func offsets(s *session) any {
	in, out := s.topic("in", 1), s.topic("out", 2)
	producer := s.producer()
	s.send(producer, plain(in, "in", 10, 1))
	producer.Close()
	results := result{}
	for _, ending := range []string{"abort", "commit"} {
		// A new member begins where the group has committed, or at the beginning.
		member := must(kgo.NewGroupTransactSession(append(security(), kgo.SeedBrokers(s.bootstrap...), kgo.ConsumeTopics(in),
			kgo.ConsumerGroup(s.name("transformer")), kgo.TransactionalID(s.name("transformer")),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
			kgo.RecordPartitioner(kgo.ManualPartitioner()))...))
		var seen []*kgo.Record
		until("ten records", func() bool {
			fetches := member.PollFetches(s.ctx)
			check(fetches.Err())
			seen = append(seen, fetches.Records()...)
			return len(seen) == 10
		})
		check(member.Begin())
		for _, record := range seen {
			copied := &kgo.Record{
				Topic: out, Partition: int32(record.Offset % 2), Value: record.Value, Timestamp: after(0),
			}
			check(member.ProduceSync(s.ctx, copied).FirstErr())
		}
		committed, err := member.End(s.ctx, kgo.TransactionEndTry(ending == "commit"))
		check(err)
		member.Close()
		s.awaitStable(out)
		results["after "+ending] = []any{committed, s.committed(s.name("transformer"))}
	}
	results["out"] = s.read(out, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	return results
}

// fenced lets a second producer take the id over: the first one's open transaction is aborted, and its commit refused.
func fenced(s *session) any {
	topic := s.topic("fenced", 2)
	one := s.producer(kgo.TransactionalID(s.name("fenced")))
	defer one.Close()
	check(one.BeginTransaction())
	s.send(one, plain(topic, "first", 4, 2))
	two := s.producer(kgo.TransactionalID(s.name("fenced")))
	defer two.Close()
	check(two.BeginTransaction())
	s.send(two, plain(topic, "second", 4, 2))
	results := result{"first-commit": outcome(one.EndTransaction(s.ctx, kgo.TryCommit))}
	check(two.EndTransaction(s.ctx, kgo.TryCommit))
	s.awaitStable(topic)
	results["read"] = s.read(topic, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	return results
}
