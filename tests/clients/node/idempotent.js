'use strict'

const { TIME, read } = require('./records')

const PRODUCERS = 2
const BATCHES = 100
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
  // KafkaJS puts one batch after the other, in the order of the calls.
  const values = lines.map((line) => line.match(/value='(.*?)'/)[1])
  const wanted = Array.from({ length: PRODUCERS * BATCHES * SIZE }, (_, at) =>
    `producer ${Math.floor(at / (BATCHES * SIZE))} record ${at % (BATCHES * SIZE)}`)
  return { idempotent: { count: lines.length, ordered: values.every((value, at) => value === wanted[at]) } }
}

module.exports = { run }
