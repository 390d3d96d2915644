package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const limit = 60 * time.Second

// session is what a run was called with, and the clients it makes.
type session struct {
	prefix    string
	bootstrap []string
	// seconds is how long the scenario stay takes.
	seconds int
	// ctx ends when the run takes too long, or with end.
	ctx context.Context
	end context.CancelFunc
}

func newSession(arguments []string) *session {
	s := &session{}
	s.ctx, s.end = context.WithTimeout(context.Background(), 2*limit)
	for at := 0; at+1 < len(arguments); at += 2 {
		value := arguments[at+1]
		switch arguments[at] {
		case "--prefix":
			s.prefix = value
		case "--seconds":
			s.seconds = must(strconv.Atoi(value))
		case "--bootstrap":
			s.bootstrap = strings.Split(value, ",")
		default:
			panic("an argument that means nothing here: " + arguments[at])
		}
	}
	return s
}

// name is the name of a topic, group or transactional id of this run.
func (s *session) name(own string) string { return s.prefix + own }

// own is a name without the prefix of this run.
func (s *session) own(name string) string { return strings.ReplaceAll(name, s.prefix, "") }

func (s *session) owns(name string) bool { return strings.HasPrefix(name, s.prefix) }

func (s *session) client(options ...kgo.Opt) *kgo.Client {
	// A member hears soon of a rebalance, and of topics.
	defaults := []kgo.Opt{
		kgo.SeedBrokers(s.bootstrap...), kgo.MetadataMinAge(50 * time.Millisecond), kgo.FetchMaxWait(100 * time.Millisecond),
	}
	return must(kgo.NewClient(append(append(defaults, security()...), options...)...))
}

// producer writes to the partition that a record says.
func (s *session) producer(options ...kgo.Opt) *kgo.Client {
	defaults := []kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(4 << 20)}
	return s.client(append(defaults, options...)...)
}

func (s *session) admin() *kadm.Client { return kadm.NewClient(s.client()) }

// topic creates a topic with the cluster's own replication factor and returns its whole name.
func (s *session) topic(own string, partitions int, configs ...string) string {
	name := s.name(own)
	admin := s.admin()
	defer admin.Close()
	settings := map[string]*string{}
	for at := 0; at+1 < len(configs); at += 2 {
		settings[configs[at]] = &configs[at+1]
	}
	must(admin.CreateTopic(s.ctx, int32(partitions), -1, settings, name))
	until("topic "+own, func() bool { return s.led(admin, name) == partitions })
	return name
}

// led is the number of a topic's partitions with a leader.
func (s *session) led(admin *kadm.Client, name string) int {
	count := 0
	for _, partition := range must(admin.ListTopics(s.ctx, name))[name].Partitions {
		if partition.Err == nil && partition.Leader >= 0 {
			count++
		}
	}
	return count
}

// until looks again and again until it is so.
func until(what string, look func() bool) {
	for end := time.Now().Add(limit); !look(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			panic(fmt.Sprintf("%s: not within %v", what, limit))
		}
	}
}

// outcome is Kafka's name for an error.
func outcome(err error) string {
	var known *kerr.Error
	switch {
	case err == nil:
		return "no error"
	case errors.As(err, &known):
		return known.Message
	default:
		return fmt.Sprintf("%T", err)
	}
}
