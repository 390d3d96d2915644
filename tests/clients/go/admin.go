package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// admin does what administrators do.
func admin(s *session) result {
	admin := s.admin()
	defer admin.Close()
	results := result{
		"topics":   topics(s, admin),
		"configs":  configs(s, admin),
		"cluster":  cluster(s, admin),
		"features": features(s, admin),
		"quotas":   quotas(s, admin),
	}
	partitionAdmin(s, admin, results)
	results["groups"], results["offsets"] = groups(s, admin)
	return results
}

func topics(s *session, admin *kadm.Client) any {
	name := s.name("plain")
	create := func(name string, partitions int32, replicas int16, configs map[string]*string) string {
		return outcome(must(admin.CreateTopics(s.ctx, partitions, replicas, configs, name))[name].Err)
	}
	results := result{
		"dry":           outcome(must(admin.ValidateCreateTopics(s.ctx, 3, -1, nil, name))[name].Err),
		"made":          create(name, 3, -1, nil),
		"again":         create(name, 3, -1, nil),
		"bad-name":      create(s.name("not/a*name"), 1, 1, nil),
		"many-replicas": create(s.name("many"), 1, 30, nil),
		"bad-config":    create(s.name("config"), 1, -1, map[string]*string{"no.such.config": kadm.StringPtr("1")}),
	}
	until("the topic", func() bool {
		described := must(admin.ListTopics(s.ctx, name))[name]
		replicas := []int{}
		for _, partition := range described.Partitions.Sorted() {
			if partition.Err == nil && partition.Leader >= 0 {
				replicas = append(replicas, len(partition.Replicas))
			}
		}
		results["described"] = []any{s.own(described.Topic), described.IsInternal, described.ID != kadm.TopicID{}, replicas}
		return len(replicas) == 3
	})
	extend := result{}
	for _, count := range []int{2, 5} {
		extend[fmt.Sprint(count)] = outcome(must(admin.UpdatePartitions(s.ctx, count, name))[name].Err)
	}
	until("five partitions", func() bool { return s.led(admin, name) == 5 })
	results["extend"] = extend
	until("the topic in the list", func() bool {
		listed := s.listed(admin)
		results["listed"] = listed
		return len(listed) > 0
	})
	results["delete"] = outcome(must(admin.DeleteTopics(s.ctx, name))[name].Err)
	until("its end", func() bool { return !slices.Contains(s.listed(admin), "plain") })
	results["delete-again"] = outcome(must(admin.DeleteTopics(s.ctx, name))[name].Err)
	return results
}

// listed gives the topics of this run.
func (s *session) listed(admin *kadm.Client) []string {
	names := []string{}
	for _, name := range must(admin.ListTopics(s.ctx)).Names() {
		if s.owns(name) {
			names = append(names, s.own(name))
		}
	}
	return names
}

func configs(s *session, admin *kadm.Client) any {
	name := s.topic("configured", 1, "cleanup.policy", "compact")
	// The broker that is asked may not have heard of the topic yet, or of a change.
	entries := func(key, value string) map[string]string {
		found := map[string]string{}
		until(key+" of "+value, func() bool {
			described, err := must(admin.DescribeTopicConfigs(s.ctx, name)).On(name, nil)
			for _, config := range described.Configs {
				found[config.Key] = fmt.Sprint(config.MaybeValue(), " ", config.Source, " ", config.Sensitive)
			}
			return err == nil && strings.HasPrefix(found[key], value+" ")
		})
		return found
	}
	alter := func(op kadm.IncrementalOp, key, value string) string {
		changes := []kadm.AlterConfig{{Op: op, Name: key, Value: &value}}
		return outcome(must(admin.AlterTopicConfigs(s.ctx, changes, name))[0].Err)
	}
	results := result{
		"before": entries("cleanup.policy", "compact"),
		"set":    alter(kadm.SetConfig, "retention.ms", "12345678"),
		"append": alter(kadm.AppendConfig, "cleanup.policy", "delete"),
		"wrong":  alter(kadm.SetConfig, "retention.ms", "many"),
	}
	results["after"] = entries("cleanup.policy", "compact,delete")
	return results
}

func cluster(s *session, admin *kadm.Client) any {
	found := must(admin.BrokerMetadata(s.ctx))
	addresses := map[string]bool{}
	for _, broker := range found.Brokers {
		addresses[fmt.Sprint(broker.Host, broker.Port)] = true
	}
	return result{
		"nodes": len(found.Brokers), "distinct-addresses": len(addresses), "has-id": found.Cluster != "",
		"controller-is-a-node": slices.Contains(found.Brokers.NodeIDs(), found.Controller),
	}
}

// features are told in ApiVersions.
func features(s *session, admin *kadm.Client) any {
	finalized := result{}
	for _, broker := range must(admin.ApiVersions(s.ctx)).Sorted() {
		check(broker.Err)
		for _, feature := range broker.Raw().FinalizedFeatures {
			finalized[feature.Name] = []int16{feature.MinVersionLevel, feature.MaxVersionLevel}
		}
	}
	return finalized
}

// quotas are of a client id of this run.
func quotas(s *session, admin *kadm.Client) any {
	client := s.name("limited")
	entity := kadm.ClientQuotaEntity{{Type: "client-id", Name: &client}}
	wanted := []kadm.DescribeClientQuotaComponent{{Type: "client-id", MatchName: &client}}
	results := result{}
	for _, remove := range []bool{false, true} {
		change := kadm.AlterClientQuotaEntry{
			Entity: entity, Ops: []kadm.AlterClientQuotaOp{{Key: "producer_byte_rate", Value: 1e6, Remove: remove}},
		}
		step := map[bool]string{false: "set", true: "removed"}[remove]
		results[step] = outcome(must(admin.AlterClientQuotas(s.ctx, []kadm.AlterClientQuotaEntry{change}))[0].Err)
		// What is looked at is what was waited for: the next broker may not have heard of it yet.
		until("the quota", func() bool {
			then := []string{}
			for _, found := range must(admin.DescribeClientQuotas(s.ctx, true, wanted)) {
				then = append(then, s.own(found.Entity.String())+" "+fmt.Sprint(found.Values))
			}
			results[step+"-then"] = then
			return (len(then) == 0) == remove
		})
	}
	return results
}

// groups are listed, described, deleted; while a member is there and after. And their offsets.
func groups(s *session, admin *kadm.Client) (any, any) {
	group, topic := s.name("group"), s.name("partitions")
	member := s.client(kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ClientID("prober"),
		kgo.DisableAutoCommit(), kgo.Balancers(kgo.RangeBalancer()))
	results, offsets := result{}, result{}
	until("a stable group", func() bool {
		results["stable"] = s.stable(admin, group, 1)
		return results["stable"] != nil
	})
	described := must(admin.DescribeGroups(s.ctx, group))[group]
	results["member"] = []any{described.Members[0].ClientID, s.ownTopics(described.AssignedPartitions())}
	remove := func(group string) string { return outcome(must(admin.DeleteGroups(s.ctx, group))[group].Err) }
	alter := func(place int64, metadata string) string {
		wanted := kadm.Offsets{}
		wanted.Add(kadm.Offset{Topic: topic, Partition: 0, At: place, LeaderEpoch: -1, Metadata: metadata})
		return outcome(must(admin.CommitOffsets(s.ctx, group, wanted)).Error())
	}
	results["delete-in-use"] = remove(group)
	offsets["alter-in-use"] = alter(1, "")
	member.Close()
	offsets["alter"] = alter(3, "three")
	altered, _ := must(admin.FetchOffsets(s.ctx, group)).Lookup(topic, 0)
	offsets["altered"] = []any{altered.At, altered.Metadata, s.committed(group)}
	first := kadm.TopicsSet{}
	first.Add(topic, 0)
	offsets["delete"] = outcome(must(admin.DeleteOffsets(s.ctx, group, first)).Error())
	offsets["deleted"] = s.committed(group)
	listed := []string{}
	for _, found := range must(admin.ListGroups(s.ctx)).Sorted() {
		if s.owns(found.Group) {
			listed = append(listed, s.own(found.Group)+" "+found.GroupType+" "+found.State)
		}
	}
	results["listed"] = listed
	results["delete"] = remove(group)
	results["delete-absent"] = remove(s.name("absent"))
	return results, offsets
}

// ownTopics gives topics and their partitions as text.
func (s *session) ownTopics(topics kadm.TopicsSet) []string {
	found := []string{}
	topics.EachPartitions(func(topic string, partitions []int32) {
		slices.Sort(partitions)
		found = append(found, fmt.Sprint(s.own(topic), partitions))
	})
	slices.Sort(found)
	return found
}
