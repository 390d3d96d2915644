package main

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	idempotentPartitions = 3
	idempotentRecords    = 900
)

// idempotent has producers with many small batches in flight: every record once, in the order of the calls.
func idempotent(s *session) result {
	topic := s.topic("idempotent", idempotentPartitions)
	want := map[string][]string{}
	rise := []bool{}
	for _, name := range []string{"one", "two"} {
		producer := s.producer(kgo.ProducerBatchMaxBytes(700), kgo.ProducerLinger(0))
		records := plain(topic, name, idempotentRecords, idempotentPartitions)
		s.send(producer, records)
		producer.Close()
		last := [idempotentPartitions]int64{-1, -1, -1}
		rises := true
		for _, record := range records {
			rises = rises && record.Offset > last[record.Partition]
			last[record.Partition] = record.Offset
			key := fmt.Sprint(record.Partition)
			want[key] = append(want[key], fmt.Sprintf("%d %s", len(want[key]), record.Value))
		}
		rise = append(rise, rises)
	}
	got := map[string][]string{}
	s.drain(topic, func(record *kgo.Record) {
		key := fmt.Sprint(record.Partition)
		got[key] = append(got[key], fmt.Sprintf("%d %s", record.Offset, record.Value))
	})
	ordered := result{}
	for key := range want {
		ordered[key] = slices.Equal(got[key], want[key])
	}
	return result{"idempotent": result{"offsets-rise": rise, "ordered": ordered, "ends": s.ends(topic)}}
}
