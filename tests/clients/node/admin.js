'use strict'

const { ConfigResourceTypes } = require('kafkajs')
const { stable } = require('./groups')
const { absent } = require('./lacking')
const { plain, read } = require('./records')
const { REPLICAS, led, outcome, until } = require('./session')

/** What administrators do. */
async function run(session) {
  return session.admin(async (admin) => {
    const results = {
      topics: await topics(session, admin),
      configs: await configs(session, admin),
      cluster: await cluster(admin),
      partitions: await partitions(session, admin),
      'delete-records': await deleteRecords(session, admin),
      reassignments: await reassignments(session, admin),
      'log-dirs': absent('Admin', admin, 'describeLogDirs'),
      producers: absent('Admin', admin, 'describeProducers'),
      'list-transactions': absent('Admin', admin, 'listTransactions', 'describeTransactions'),
      quotas: absent('Admin', admin, 'describeClientQuotas', 'alterClientQuotas'),
      features: absent('Admin', admin, 'describeFeatures', 'updateFeatures'),
    }
    return { ...results, ...(await groups(session, admin)) }
  })
}

async function topics(session, admin) {
  const topic = session.name('plain')
  const create = (one, more) =>
    outcome(async () => {
      const made = await admin.createTopics({ topics: [{ numPartitions: 3, replicationFactor: REPLICAS, ...one }], ...more })
      if (!made) {
        throw Object.assign(new Error(), { name: 'it exists' })
      }
    })
  const results = {
    dry: await create({ topic }, { validateOnly: true, waitForLeaders: false }),
    made: await create({ topic }),
    again: await create({ topic }),
    'bad-name': await create({ topic: session.name('not/a*name') }),
    'many-replicas': await create({ topic: session.name('many'), replicationFactor: 30 }),
  }
  results.described = await until('the topic', async () => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    const led = topics[0].partitions.filter(({ leader }) => leader >= 0)
    return led.length === 3 && led.map(({ partitionId, replicas, isr }) => [partitionId, replicas.length, isr.length]).sort()
  })
  results.extend = []
  for (const count of [2, 5]) {
    results.extend.push(await outcome(() => admin.createPartitions({ topicPartitions: [{ topic, count }] })))
  }
  await until('five partitions', async () => (await led(admin, topic)) === 5)
  const listed = async () => (await admin.listTopics()).filter((name) => session.owns(name)).map((name) => session.own(name))
  results.listed = await until('the topic in the list', async () => {
    const found = await listed()
    return found.length && found
  })
  results.delete = await outcome(() => admin.deleteTopics({ topics: [topic] }))
  await until('its end', async () => !(await listed()).includes('plain'))
  return results
}

async function configs(session, admin) {
  const name = await session.topic('configured', 1, { 'cleanup.policy': 'compact' })
  const resource = { type: ConfigResourceTypes.TOPIC, name }
  const entries = async () => {
    const { resources } = await admin.describeConfigs({ resources: [resource] })
    return Object.fromEntries(resources[0].configEntries.map((entry) => [entry.configName, entry.configValue]))
  }
  // The broker that is asked may not have heard of the topic yet.
  const before = await until('the configurations', () => entries().catch(() => null))
  const alter = (value) =>
    outcome(() => admin.alterConfigs({
      validateOnly: false, resources: [{ ...resource, configEntries: [{ name: 'retention.ms', value }] }],
    }))
  const results = { before, set: await alter('12345678'), wrong: await alter('many') }
  results.after = await until('the change', async () => {
    const found = await entries()
    return found['retention.ms'] === '12345678' && found
  })
  return results
}

async function cluster(admin) {
  const { brokers, controller, clusterId } = await admin.describeCluster()
  return {
    nodes: brokers.length,
    'distinct-addresses': new Set(brokers.map(({ host, port }) => `${host}:${port}`)).size,
    'controller-is-a-node': brokers.some(({ nodeId }) => nodeId === controller),
    'has-id': clusterId.length > 0,
  }
}

/** Offsets by administrators. */
async function partitions(session, admin) {
  const topic = await session.topic('partitions', 2)
  await session.producer({}, (producer) => producer.send({ topic, messages: plain('v', 20, 2) }))
  return (await admin.fetchTopicOffsets(topic)).sort((one, other) => one.partition - other.partition)
}

async function deleteRecords(session, admin) {
  const topic = session.name('partitions')
  const before = (offset) => outcome(() => admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset }] }))
  return {
    'before-4': await before('4'),
    low: (await admin.fetchTopicOffsets(topic)).find(({ partition }) => partition === 0).low,
    'before-400': await before('400'),
    left: (await read(session, topic, 2))[0],
  }
}

async function reassignments(session, admin) {
  const topic = session.name('partitions')
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  const now = topics[0].partitions.find(({ partitionId }) => partitionId === 0).replicas
  const alter = (replicas) =>
    outcome(() => admin.alterPartitionReassignments({ topics: [{ topic, partitionAssignment: [{ partition: 0, replicas }] }] }))
  return {
    'to-the-same': await alter(now),
    'to-nobody': await alter([999_983]),
    ongoing: await admin.listPartitionReassignments({ topics: [{ topic, partitions: [0, 1] }] }),
  }
}

/** A group while a member is there and after, and its offsets. */
async function groups(session, admin) {
  const groupId = session.name('group')
  const topic = session.name('partitions')
  const alter = () => outcome(() => admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: '3' }] }))
  const consumer = session.newConsumer({ groupId })
  await consumer.connect()
  await consumer.subscribe({ topic })
  await consumer.run({ autoCommit: false, eachMessage: async () => {} })
  const described = await until('a stable group', () => stable(admin, groupId, 1))
  const remove = (id) => outcome(() => admin.deleteGroups([id]))
  const results = { described, 'delete-in-use': await remove(groupId) }
  const offsets = { 'alter-in-use': await alter() }
  await consumer.disconnect()
  offsets.alter = await alter()
  offsets.altered = (await admin.fetchOffsets({ groupId, topics: [topic] }))[0].partitions
  const listed = (await admin.listGroups()).groups.filter((found) => found.groupId === groupId)
  results.listed = listed.map(({ protocolType }) => protocolType)
  results.delete = await remove(groupId)
  results['delete-absent'] = await remove(session.name('absent'))
  return { groups: results, offsets }
}

module.exports = { run }
