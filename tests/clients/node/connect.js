'use strict'

const { plain } = require('./records')
const { outcome, until } = require('./session')

const PARTITIONS = 2
const RECORDS = 20

/** Getting in: a topic, some records, and a group that reads them and commits. */
async function run(session) {
  const topic = await session.topic('connect', PARTITIONS)
  const groupId = session.name('connect')
  const messages = plain('value', RECORDS, PARTITIONS)
  const written = await session.producer({}, (producer) => producer.send({ topic, messages }))
  const read = { 0: [], 1: [] }
  const consumer = session.newConsumer({ groupId })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ partition, message }) => {
      read[partition].push(message.value.toString())
    },
  })
  await until('all records', () => read[0].length + read[1].length === RECORDS)
  // Leaving commits.
  await consumer.disconnect()
  const committed = await session.admin(async (admin) => {
    const [{ partitions }] = await admin.fetchOffsets({ groupId, topics: [topic] })
    return Object.fromEntries(partitions.map(({ partition, offset }) => [partition, Number(offset)]))
  })
  return { connect: { written: written.map(({ errorCode, baseOffset }) => [errorCode, baseOffset]), read, committed } }
}

/** One question to the cluster: does it let us in? */
async function login(session) {
  return { login: await outcome(() => session.impatientAdmin((admin) => admin.describeCluster())) }
}

module.exports = { run, login }
