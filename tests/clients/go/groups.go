package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	partitions = 6
	batch      = 60
)

// classic has groups whose members assign the partitions.
func classic(s *session) result {
	eager := tell(s, "eager", kgo.Balancers(kgo.RangeBalancer()))
	eager["pattern"] = pattern(s)
	return result{"eager": eager, "cooperative": tell(s, "cooperative", kgo.Balancers(kgo.CooperativeStickyBalancer()))}
}

// kip848 has groups whose coordinator assigns them.
func kip848(s *session) result {
	results := result{}
	for name, balancer := range map[string]kgo.GroupBalancer{"uniform": kgo.StickyBalancer(), "range": kgo.RangeBalancer()} {
		results[name] = tell(s, name, kgo.Balancers(balancer), kgo.ServerSideBalancer())
	}
	results["pattern"] = pattern(s, kgo.Balancers(kgo.RangeBalancer()), kgo.ServerSideBalancer())
	return result{"kip848": results}
}

// seen is what the members of a group have seen, by partition and offset.
type seen struct {
	lock   sync.Mutex
	counts map[string]int
}

// member is a member of a group, which commits what it has seen before it gives a partition up.
type member struct {
	client *kgo.Client
	stop   context.CancelFunc
	ended  chan struct{}
	lock   sync.Mutex
	held   []int32
}

func (s *session) join(topic, group string, seen *seen, options []kgo.Opt) *member {
	m := &member{ended: make(chan struct{})}
	ctx, stop := context.WithCancel(s.ctx)
	m.stop = stop
	change := func(keep func(int32, []int32) bool) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(ctx context.Context, client *kgo.Client, changed map[string][]int32) {
			check(client.CommitUncommittedOffsets(ctx))
			m.lock.Lock()
			defer m.lock.Unlock()
			for _, partitions := range changed {
				m.held = slices.DeleteFunc(append(m.held, partitions...), func(partition int32) bool {
					return !keep(partition, partitions)
				})
			}
		}
	}
	all := func(int32, []int32) bool { return true }
	others := func(partition int32, changed []int32) bool { return !slices.Contains(changed, partition) }
	m.client = s.client(append(options, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.HeartbeatInterval(200*time.Millisecond),
		kgo.BlockRebalanceOnPoll(), kgo.OnPartitionsAssigned(change(all)), kgo.OnPartitionsRevoked(change(others)),
		kgo.OnPartitionsLost(change(others)))...)
	go m.run(ctx, seen)
	return m
}

func (m *member) run(ctx context.Context, seen *seen) {
	defer close(m.ended)
	for ctx.Err() == nil {
		fetches := m.client.PollFetches(ctx)
		if err := fetches.Err(); err != nil && !errors.Is(err, context.Canceled) {
			panic(err)
		}
		seen.lock.Lock()
		fetches.EachRecord(func(record *kgo.Record) {
			seen.counts[fmt.Sprintf("%d@%d", record.Partition, record.Offset)]++
		})
		seen.lock.Unlock()
		m.client.AllowRebalance()
	}
}

// leave leaves the group and returns when it has.
func (m *member) leave() {
	m.stop()
	<-m.ended
	// Leaving gives the partitions up, which commits.
	m.client.CloseAllowingRebalance()
}

// tell has two members, then three, then two again, with records in every stage.
func tell(s *session, own string, options ...kgo.Opt) result {
	topic, group := s.topic(own, partitions), s.name(own)
	admin := s.admin()
	defer admin.Close()
	seen := &seen{counts: map[string]int{}}
	var members []*member
	var stages []any
	stage := func() {
		share := partitions / len(members)
		until("an even assignment", func() bool { return even(members, share) })
		producer := s.producer()
		s.send(producer, plain(topic, fmt.Sprint("stage ", len(stages)), batch, partitions))
		producer.Close()
		until("all records", func() bool {
			seen.lock.Lock()
			defer seen.lock.Unlock()
			return len(seen.counts) == batch*(len(stages)+1)
		})
		var found any
		until("a stable group", func() bool {
			found = s.stable(admin, group, len(members))
			return found != nil
		})
		stages = append(stages, found)
	}
	members = append(members, s.join(topic, group, seen, options), s.join(topic, group, seen, options))
	stage()
	members = append(members, s.join(topic, group, seen, options))
	stage()
	members[1].leave()
	members = slices.Delete(members, 1, 2)
	stage()
	twice := 0
	for _, member := range members {
		member.leave()
	}
	for _, count := range seen.counts {
		twice += count - 1
	}
	return result{"stages": stages, "seen": len(seen.counts), "twice": twice, "committed": s.committed(group)}
}

// even says whether the members share all partitions evenly.
func even(members []*member, share int) bool {
	all := map[int32]bool{}
	for _, member := range members {
		member.lock.Lock()
		held := slices.Clone(member.held)
		member.lock.Unlock()
		if len(held) != share {
			return false
		}
		for _, partition := range held {
			all[partition] = true
		}
	}
	return len(all) == partitions
}

// stable gives the group as an administrator sees it, once it has settled.
func (s *session) stable(admin *kadm.Client, group string, members int) any {
	for _, listed := range must(admin.ListGroups(s.ctx)) {
		if listed.Group != group || listed.State != "Stable" {
			continue
		}
		if listed.GroupType == "consumer" {
			found := must(admin.DescribeConsumerGroups(s.ctx, group))[group]
			if len(found.Members) == members {
				return []any{listed.GroupType, found.State, found.AssignorName, members}
			}
			return nil
		}
		found := must(admin.DescribeGroups(s.ctx, group))[group]
		if len(found.Members) == members && found.State == "Stable" {
			return []any{listed.GroupType, found.ProtocolType, found.Protocol, members}
		}
	}
	return nil
}

// committed gives the offsets that a group has committed; members of franz-go put their ids beside them.
func (s *session) committed(group string) result {
	admin := s.admin()
	defer admin.Close()
	places := result{}
	must(admin.FetchOffsets(s.ctx, group)).Each(func(place kadm.OffsetResponse) {
		check(place.Err)
		places[fmt.Sprintf("%s-%d", s.own(place.Topic), place.Partition)] = place.At
	})
	return places
}

// pattern has a subscription by pattern. It is not anchored: franz-go has the broker look for it anywhere in a name.
func pattern(s *session, options ...kgo.Opt) any {
	wanted := s.topic("pattern-a", 2)
	s.topic("other-a", 2)
	producer := s.producer()
	defer producer.Close()
	s.send(producer, plain(wanted, "v", 2, 2))
	consumer := s.client(append(options, kgo.ConsumerGroup(s.name("pattern")), kgo.ConsumeRegex(),
		kgo.ConsumeTopics(s.name("pattern-")), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	defer consumer.Close()
	found := []string{}
	until("all records", func() bool {
		consumer.PollFetches(s.ctx).EachRecord(func(record *kgo.Record) {
			found = append(found, fmt.Sprintf("%s-%d", s.own(record.Topic), record.Partition))
		})
		return len(found) == 2
	})
	slices.Sort(found)
	return found
}
