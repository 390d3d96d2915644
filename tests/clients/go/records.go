package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// first is the first explicit timestamp, in milliseconds; the next ones are a second apart.
const first = int64(1_700_000_000_000)

func after(milliseconds int64) time.Time { return time.UnixMilli(first + milliseconds) }

// noise gives bytes that no codec makes smaller, always the same ones.
func noise(length int, seed int64) []byte {
	content := make([]byte, length)
	rand.New(rand.NewSource(seed)).Read(content)
	return content
}

// odd has every odd shape of a record: null and empty keys, values and header values, and headers that share a key.
func odd(topic string, partition int) []*kgo.Record {
	contents := [][]byte{nil, {}, []byte("text"), []byte("Grüße, 世界"), noise(300, 7), make([]byte, 5_000)}
	var records []*kgo.Record
	for _, key := range contents {
		for _, value := range contents {
			number := len(records)
			record := &kgo.Record{
				Topic: topic, Partition: int32(partition), Key: key, Value: value, Timestamp: after(1000 * int64(number)),
			}
			if number%3 == 0 {
				record.Headers = []kgo.RecordHeader{
					{Key: "twice", Value: []byte("first")}, {Key: "other"}, {Key: "twice", Value: []byte("second")},
					{Key: "twice"}, {Key: "", Value: []byte{}}, {Key: "ключ", Value: noise(40, int64(number))},
				}
			}
			records = append(records, record)
		}
	}
	return records
}

// plain gives records with a text as value, spread over partitions.
func plain(topic, what string, count, partitions int) []*kgo.Record {
	var records []*kgo.Record
	for number := range count {
		records = append(records, &kgo.Record{
			Topic: topic, Partition: int32(number % partitions), Timestamp: after(0),
			Value: []byte(what + " " + strconv.Itoa(number)),
		})
	}
	return records
}

// send writes records and tells what each was answered, in their order.
func (s *session) send(producer *kgo.Client, records []*kgo.Record) []string {
	answers := make([]string, len(records))
	for number, record := range records {
		producer.Produce(s.ctx, record, func(record *kgo.Record, err error) {
			if answers[number] = outcome(err); err == nil {
				answers[number] = fmt.Sprintf("%d@%d", record.Partition, record.Offset)
			}
		})
	}
	check(producer.Flush(s.ctx))
	return answers
}

// ends gives where each partition of a topic ends.
func (s *session) ends(topic string) map[int32]int64 {
	return s.endsBy(topic, (*kadm.Client).ListEndOffsets)
}

// endsBy gives what some request says of where each partition of a topic ends.
func (s *session) endsBy(
	topic string, list func(*kadm.Client, context.Context, ...string) (kadm.ListedOffsets, error),
) map[int32]int64 {
	admin := s.admin()
	defer admin.Close()
	ends := map[int32]int64{}
	for partition, found := range must(list(admin, s.ctx, topic))[topic] {
		check(found.Err)
		ends[partition] = found.Offset
	}
	return ends
}

// read gives all that a topic holds, by partition.
func (s *session) read(topic string, options ...kgo.Opt) map[string][]string {
	lines := map[string][]string{}
	for partition := range s.ends(topic) {
		lines[strconv.Itoa(int(partition))] = []string{}
	}
	s.drain(topic, func(record *kgo.Record) {
		key := strconv.Itoa(int(record.Partition))
		lines[key] = append(lines[key], line(record))
	}, options...)
	return lines
}

// drain reads a topic up to where it ends now; while a transaction is open, only read_uncommitted gets there.
func (s *session) drain(topic string, to func(*kgo.Record), options ...kgo.Opt) {
	left := s.ends(topic)
	offsets := map[int32]kgo.Offset{}
	for partition, end := range left {
		if offsets[partition] = kgo.NewOffset().AtStart(); end == 0 {
			delete(left, partition)
		}
	}
	consumer := s.client(append(options, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets}),
		kgo.FetchMaxPartitionBytes(4<<20), kgo.KeepControlRecords())...)
	defer consumer.Close()
	until("the end of "+topic, func() bool {
		if len(left) == 0 {
			return true
		}
		fetches := consumer.PollFetches(s.ctx)
		check(fetches.Err())
		fetches.EachRecord(func(record *kgo.Record) {
			// Markers say that the end is reached; they are no records of anybody's.
			if !record.Attrs.IsControl() {
				to(record)
			}
			if record.Offset+1 >= left[record.Partition] {
				delete(left, record.Partition)
			}
		})
		return false
	})
}

func line(record *kgo.Record) string {
	var headers []string
	for _, header := range record.Headers {
		headers = append(headers, header.Key+"="+shown(header.Value))
	}
	kind := "LogAppendTime"
	if record.Attrs.TimestampType() == 0 {
		kind = fmt.Sprintf("CreateTime %d", record.Timestamp.UnixMilli())
	}
	text := fmt.Sprintf("%d %s key=%s value=%s headers=[%s]", record.Offset, kind, shown(record.Key),
		shown(record.Value), strings.Join(headers, ", "))
	if record.LeaderEpoch < 0 {
		text += " without epoch"
	}
	return text
}

// shown gives short printable contents as they are, others as length and hash.
func shown(content []byte) string {
	if content == nil {
		return "null"
	}
	text := string(content)
	unprintable := func(letter rune) bool { return !unicode.IsPrint(letter) }
	if len(content) < 40 && utf8.Valid(content) && strings.IndexFunc(text, unprintable) < 0 {
		return "'" + text + "'"
	}
	hash := sha256.Sum256(content)
	return fmt.Sprintf("%d:%s", len(content), hex.EncodeToString(hash[:8]))
}
