'use strict'

const { PartitionAssigners } = require('kafkajs')
const { absent } = require('./lacking')
const { plain } = require('./records')
const { until } = require('./session')

const PARTITIONS = 6
const BATCH = 60

async function classic(session) {
  return {
    eager: { ...(await tell(session)), pattern: await pattern(session) },
    cooperative: absent('PartitionAssigners', PartitionAssigners, 'cooperativeSticky', 'cooperative'),
  }
}

/** A member of a group, which commits what it has seen. */
async function join(session, topic, groupId, seen) {
  const consumer = session.newConsumer({ groupId, rebalanceTimeout: 10_000 })
  const member = { held: [], leave: () => consumer.disconnect() }
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    member.held = payload.memberAssignment[topic] ?? []
  })
  consumer.on(consumer.events.REBALANCING, () => {
    member.held = []
  })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ partition, message }) => {
      seen.push(`${partition}@${message.offset}`)
    },
  })
  return member
}

/** Two members, then three, then two again, with records in every stage. */
async function tell(session) {
  const topic = await session.topic('eager', PARTITIONS)
  const groupId = session.name('eager')
  const seen = []
  const stages = []
  const enter = () => join(session, topic, groupId, seen)
  await session.admin(async (admin) => {
    const stage = async (members) => {
      await until('an even assignment', () => even(members))
      await session.producer({}, (producer) =>
        producer.send({ topic, messages: plain(`stage ${stages.length}`, BATCH, PARTITIONS) }))
      const wanted = (stages.length + 1) * BATCH
      await until('all records', () => new Set(seen).size >= wanted)
      // Who takes a partition over goes on where the group has committed.
      await until('all commits', async () => total(await committed(admin, groupId, topic)) === wanted)
      stages.push(await until('a stable group', () => stable(admin, groupId, members.length)))
    }
    const members = [await enter(), await enter()]
    await stage(members)
    members.push(await enter())
    await stage(members)
    await members.splice(1, 1)[0].leave()
    await stage(members)
    await Promise.all(members.map((member) => member.leave()))
  })
  const left = await session.admin((admin) => committed(admin, groupId, topic))
  return { stages, seen: seen.length, twice: seen.length - new Set(seen).size, committed: left }
}

function even(members) {
  const all = new Set(members.flatMap(({ held }) => held))
  return all.size === PARTITIONS && members.every(({ held }) => held.length === PARTITIONS / members.length)
}

function total(places) {
  return places.reduce((sum, { offset }) => sum + Number(offset), 0)
}

async function committed(admin, groupId, topic) {
  const [found] = await admin.fetchOffsets({ groupId, topics: [topic] })
  return found.partitions.sort((one, other) => one.partition - other.partition)
}

/** The group as an administrator sees it, once it has settled. */
async function stable(admin, groupId, count) {
  const { groups } = await admin.describeGroups([groupId])
  const [{ state, protocol, protocolType, members }] = groups
  return state === 'Stable' && members.length === count && [state, protocol, protocolType, count]
}

/** A subscription by pattern. */
async function pattern(session) {
  const wanted = await session.topic('pattern-a', 2)
  await session.topic('other-a', 2)
  await session.producer({}, (producer) => producer.send({ topic: wanted, messages: plain('v', 2, 2) }))
  const seen = []
  const consumer = session.newConsumer({ groupId: session.name('pattern') })
  await consumer.connect()
  await consumer.subscribe({ topic: new RegExp(`^${session.name('pattern-')}.*`), fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ topic, partition }) => {
      seen.push(`${session.own(topic)}-${partition}`)
    },
  })
  await until('all records', () => seen.length === 2)
  await consumer.disconnect()
  return seen.sort()
}

module.exports = { classic, stable }
