'use strict'

const { outcome, until } = require('./session')

/** Staying for longer than a login lasts: writing all the while, and a group that reads it and commits. */
async function run(session) {
  const topic = await session.topic('stay', 2)
  const answers = new Set()
  const errors = new Set()
  const read = new Set()
  const consumer = session.newConsumer({ groupId: session.name('stay') })
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    // Before it has joined, a coordinator that is new may be loading still.
    if (read.size > 0) {
      errors.add(payload.error.type ?? payload.error.name)
    }
  })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({ autoCommitThreshold: 1, eachMessage: async ({ message }) => read.add(message.value.toString()) })
  const end = performance.now() + 1000 * Number(session.option('seconds'))
  let number = 0
  await session.producer({}, async (producer) => {
    while (performance.now() < end) {
      const messages = [{ partition: number % 2, value: String(number) }]
      answers.add(await outcome(() => producer.send({ topic, messages })))
      number += 1
      await new Promise((again) => setTimeout(again, 50))
    }
  })
  await until('all records', () => read.size >= number)
  await consumer.disconnect()
  return { stay: { answers: [...answers].sort(), errors: [...errors].sort(), read: read.size === number } }
}

module.exports = { run }
