'use strict'

const { TIME, read } = require('./records')

const PRODUCERS = 2
const BATCHES = 50
const SIZE = 10

/** Idempotent producers with many small batches in flight: every record once. */
async function run(session) {
  const topic = await session.topic('idempotent', 1)
  for (let number = 0; number < PRODUCERS; number += 1) {
    await session.producer({ idempotent: true }, async (producer) => {
      const sends = Array.from({ length: BATCHES }, (_, batch) =>
        producer.send({
          topic,
          messages: Array.from({ length: SIZE }, (_, at) => ({
            partition: 0, value: `producer ${number} record ${SIZE * batch + at}`, timestamp: String(TIME),
          })),
        }),
      )
      await Promise.all(sends)
    })
  }
  const lines = (await read(session, topic, 1))[0]
  // KafkaJS does not always send batches in the order of the calls.
  const values = lines.map((line) => line.match(/value='(.*?)'/)[1])
  return { idempotent: { count: lines.length, records: [...new Set(values)].sort() } }
}

module.exports = { run }
