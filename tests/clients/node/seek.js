'use strict'

const { TIME, line } = require('./records')
const { until } = require('./session')

const RECORDS = 20

/** Finding a place in a partition: by offset, by time, at its ends, and beyond them. */
async function run(session) {
  const topic = await session.topic('seek', 2)
  await session.producer({}, async (producer) => {
    for (let number = 0; number < RECORDS; number += 1) {
      const messages = [0, 1].map((partition) => ({
        partition, value: `value ${number}`, timestamp: String(TIME + 1000 * number + partition),
      }))
      await producer.send({ topic, messages })
    }
  })
  const times = {}
  const ends = await session.admin(async (admin) => {
    for (const delay of [-100_000, 0, 1, 4_999, 5_000, 5_001, 19_001, 100_000]) {
      times[delay] = ordered(await admin.fetchTopicOffsetsByTimestamp(topic, TIME + delay))
    }
    return ordered(await admin.fetchTopicOffsets(topic))
  })
  return { seek: { times, ends, places: await places(session, topic) } }
}

function ordered(found) {
  return found.sort((one, other) => one.partition - other.partition)
}

/** The first record of partition 0 after each seek. */
async function places(session, topic) {
  const consumer = session.newConsumer({ groupId: session.name('seeker') })
  let wanted = null
  let found = null
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    // What was fetched before a seek still comes: only the wanted offset counts.
    eachMessage: async ({ partition, message }) => {
      if (partition === 0 && message.offset === wanted) {
        found ??= line(message)
      }
    },
  })
  const results = {}
  for (const [offset, first] of [['7', '7'], ['3', '3'], ['19', '19'], ['0', '0'], ['16', '16'], ['1000', '0']]) {
    found = null
    wanted = first
    await until('a group', () => sought(consumer, { topic, partition: 0, offset }))
    results[offset] = await until(`offset ${offset}`, () => found)
  }
  await consumer.disconnect()
  return results
}

/** A consumer that has run into a coordinator of a new cluster, which was still loading, has no group until it tries again. */
function sought(consumer, place) {
  try {
    consumer.seek(place)
    return true
  } catch {
    return false
  }
}

module.exports = { run }
