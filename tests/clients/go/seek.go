package main

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

// seek finds a place in a partition: by offset, by time, at its ends, and beyond them.
func seek(s *session) result {
	topic := s.topic("seek", 2)
	producer := s.producer()
	defer producer.Close()
	for number := range 40 {
		s.send(producer, []*kgo.Record{{
			Topic: topic, Partition: int32(number % 2), Timestamp: after(1000*int64(number/2) + int64(number%2)),
			Value: []byte("value " + strconv.Itoa(number/2)),
		}})
	}
	places := result{}
	for _, offset := range []int64{7, 3, 0, 19, 1_000} {
		places[strconv.FormatInt(offset, 10)] = s.following(topic, kgo.NewOffset().At(offset))
	}
	for _, delay := range []int64{-100_000, 0, 4_999, 5_001} {
		places["after "+strconv.FormatInt(delay, 10)] = s.following(topic, kgo.NewOffset().AfterMilli(first+delay))
	}
	places["from the end"] = s.following(topic, kgo.NewOffset().AtEnd().Relative(-4))
	admin := s.admin()
	defer admin.Close()
	times := result{}
	for _, delay := range []int64{-100_000, 0, 1, 4_999, 5_000, 5_001, 19_001, 100_000} {
		found := must(admin.ListOffsetsAfterMilli(s.ctx, first+delay, topic))[topic]
		times[strconv.FormatInt(delay, 10)] = []int64{found[0].Offset, found[0].Timestamp, found[1].Offset, found[1].Timestamp}
	}
	return result{"seek": result{"ends": s.ends(topic), "places": places, "times": times}}
}

// following gives the first record of partition 0 from an offset on.
func (s *session) following(topic string, offset kgo.Offset) string {
	consumer := s.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: offset}}),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer consumer.Close()
	found := consumer.PollRecords(s.ctx, 1)
	check(found.Err())
	return line(found.Records()[0])
}
