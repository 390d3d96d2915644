'use strict'

const { Kafka, Partitioners, logLevel } = require('kafkajs')

const { security } = require('./security')

const SECONDS = 60
const REPLICAS = 3

/** What a run was called with, and the clients it makes. */
class Session {
  #options = {}
  #config
  #kafka

  constructor(words) {
    for (let at = 0; at + 1 < words.length; at += 2) {
      const name = words[at].replace(/^--/, '')
      if (!['bootstrap', 'prefix', 'seconds'].includes(name)) {
        throw new Error(`${words[at]} means nothing here`)
      }
      this.#options[name] = words[at + 1]
    }
    this.#config = {
      brokers: this.#options.bootstrap.split(','),
      logLevel: logLevel.NOTHING,
      ...security(),
      retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 30 },
    }
    this.#kafka = new Kafka(this.#config)
  }

  option(name) {
    return this.#options[name]
  }

  /** The name of a topic, group or transactional id of this run. */
  name(own) {
    return this.#options.prefix + own
  }

  /** A name without the prefix of this run. */
  own(name) {
    return name.replaceAll(this.#options.prefix, '')
  }

  owns(name) {
    return name.startsWith(this.#options.prefix)
  }

  admin(use) {
    return connected(this.#kafka.admin(), use)
  }

  /** An administrator that hears at once that it does not get in. */
  impatientAdmin(use) {
    return connected(new Kafka({ ...this.#config, retry: { initialRetryTime: 50, retries: 1 } }).admin(), use)
  }

  /** A producer whose records say their partitions. */
  producer(config, use) {
    return connected(this.newProducer(config), use)
  }

  newProducer(config) {
    return this.#kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, ...config })
  }

  newConsumer(config) {
    return this.#kafka.consumer({
      maxWaitTimeInMs: 100,
      maxBytesPerPartition: 4 << 20,
      heartbeatInterval: 300,
      sessionTimeout: 20_000,
      metadataMaxAge: 5_000,
      ...config,
    })
  }

  /** Creates a topic and returns its whole name. */
  async topic(own, partitions, configs = {}) {
    const topic = this.name(own)
    const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }))
    await this.admin(async (admin) => {
      const { brokers } = await admin.describeCluster()
      const replicationFactor = Math.min(REPLICAS, brokers.length)
      // KafkaJS's own wait for leaders ends with an error where the broker that it asks has not heard of the topic yet.
      await admin.createTopics({
        waitForLeaders: false,
        topics: [{ topic, numPartitions: partitions, replicationFactor, configEntries }],
      })
      await until(`topic ${own}`, async () => (await led(admin, topic)) === partitions)
    })
    return topic
  }
}

/** The number of a topic's partitions that have a leader; none while a broker has not heard of it. */
async function led(admin, topic) {
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    return topics[0].partitions.filter(({ leader }) => leader >= 0).length
  } catch {
    return 0
  }
}

async function connected(client, use) {
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.disconnect()
  }
}

/** Looks again and again until `look` gives something true, and returns it. */
async function until(what, look) {
  const end = performance.now() + 1000 * SECONDS
  while (performance.now() < end) {
    const found = await look()
    if (found) {
      return found
    }
    await new Promise((again) => setTimeout(again, 5))
  }
  throw new Error(`${what}: not within ${SECONDS} s`)
}

/** What a call fails with, or "no error": Kafka's name of it, or that of KafkaJS. */
async function outcome(call) {
  try {
    await call()
    return 'no error'
  } catch (failure) {
    const inner = failure.errors?.[0] ?? failure.groups?.[0]?.error ?? failure.cause ?? failure
    return inner.type ?? inner.error?.type ?? inner.name
  }
}

module.exports = { Session, led, outcome, until, REPLICAS }
