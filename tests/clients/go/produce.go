package main

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

// produce writes with every kind of acknowledgement under every codec, odd and large records, and reads all of it back.
func produce(s *session) result {
	written, read := result{}, result{}
	for name, codec := range codecs {
		written[name], read[name] = oneCodec(s, name, codec)
	}
	written["append-time"], read["append-time"] = appendTime(s)
	written["errors"] = errorsOf(s)
	return result{"produce": written, "consume": read}
}

// oneCodec has a topic per codec, a partition for all kinds of acknowledgements, and one for a record of 1 MB.
func oneCodec(s *session, name string, codec kgo.CompressionCodec) (any, any) {
	topic := s.topic(name, 2)
	answers := result{}
	// Without an acknowledgement last: by then the broker is known to know the topic.
	for number, acks := range []kgo.Acks{kgo.AllISRAcks(), kgo.LeaderAck(), kgo.NoAck()} {
		producer := s.producer(kgo.RequiredAcks(acks), kgo.DisableIdempotentWrite(), kgo.ProducerBatchCompression(codec))
		sent := s.send(producer, odd(topic, 0))
		if name := []string{"all", "1", "0"}[number]; name == "0" {
			answers[name] = len(sent)
		} else {
			answers[name] = sent
		}
		producer.Close()
	}
	producer := s.producer(kgo.ProducerBatchCompression(codec))
	defer producer.Close()
	answers["large"] = s.send(producer, []*kgo.Record{
		{Topic: topic, Partition: 1, Timestamp: after(0), Value: noise(1_000_000, 1)},
	})
	// Without all acknowledgements, a producer may end before the records are where consumers see them.
	until("all records", func() bool { return s.ends(topic)[0] == int64(3*len(odd(topic, 0))) })
	return answers, s.read(topic)
}

// appendTime has a topic whose broker sets the timestamps.
func appendTime(s *session) (any, any) {
	topic := s.topic("append-time", 1, "message.timestamp.type", "LogAppendTime")
	producer := s.producer()
	defer producer.Close()
	return s.send(producer, plain(topic, "v", 1, 1)), s.read(topic)
}

// errorsOf shows what a broker refuses.
func errorsOf(s *session) any {
	tight := s.topic("tight", 1, "max.message.bytes", "1000")
	compacted := s.topic("compacted", 1, "cleanup.policy", "compact")
	producer := s.producer(kgo.RecordRetries(1), kgo.RecordDeliveryTimeout(5*time.Second))
	defer producer.Close()
	return result{
		"too-large":   s.send(producer, []*kgo.Record{{Topic: tight, Value: noise(5000, 1)}}),
		"without-key": s.send(producer, []*kgo.Record{{Topic: compacted, Value: []byte("value")}}),
	}
}
