'use strict'

const { CompressionTypes } = require('kafkajs')
const { TIME, answers, noise, odd, plain, read } = require('./records')
const { outcome, until } = require('./session')

/** Without an acknowledgement last: by then the broker is known to know the topic. */
const ACKS = [-1, 1, 0]

/** Every kind of acknowledgement under every codec; odd and large records; all of it read back. */
async function run(session) {
  const produce = {}
  const consume = {}
  for (const codec of ['None', 'GZIP']) {
    ;[produce[codec], consume[codec]] = await oneCodec(session, codec)
  }
  // Those that want a plug-in.
  for (const codec of ['Snappy', 'LZ4', 'ZSTD']) {
    const send = { topic: session.name('None'), compression: CompressionTypes[codec], messages: plain('v', 1, 1) }
    produce[codec] = await session.producer({ retry: { retries: 0 } }, (producer) => outcome(() => producer.send(send)))
  }
  ;[produce['append-time'], consume['append-time']] = await appendTime(session)
  produce.errors = await errors(session)
  return { produce, consume }
}

/** A topic per codec, a partition for all kinds of acknowledgements, and one for a record of 1 MB. */
async function oneCodec(session, codec) {
  const topic = await session.topic(codec, 2)
  const compression = CompressionTypes[codec]
  const found = {}
  await session.producer({}, async (producer) => {
    for (const acks of ACKS) {
      const sent = await producer.send({ topic, acks, compression, messages: odd(0) })
      found[acks] = acks ? answers(sent) : 'sent'
    }
    const messages = [{ partition: 1, value: noise(1_000_000, 1), timestamp: String(TIME) }]
    found.large = answers(await producer.send({ topic, compression, messages }))
  })
  // Without all acknowledgements, a producer may end before the records are where consumers see them.
  await session.admin((admin) =>
    until('all records', async () => {
      const ends = await admin.fetchTopicOffsets(topic)
      return ends.find(({ partition }) => partition === 0).high === String(ACKS.length * odd(0).length)
    }),
  )
  return [found, await read(session, topic, 2)]
}

/** A topic whose broker sets the timestamps. */
async function appendTime(session) {
  const topic = await session.topic('append-time', 1, { 'message.timestamp.type': 'LogAppendTime' })
  const sent = await session.producer({}, (producer) => producer.send({ topic, messages: plain('v', 1, 1) }))
  return [answers(sent), await read(session, topic, 1)]
}

/** What a broker refuses. */
async function errors(session) {
  const tight = await session.topic('tight', 1, { 'max.message.bytes': '1000' })
  const compacted = await session.topic('compacted', 1, { 'cleanup.policy': 'compact' })
  return session.producer({ retry: { retries: 0 } }, async (producer) => ({
    'too-large': await outcome(() => producer.send({ topic: tight, messages: [{ value: noise(5_000, 1) }] })),
    'without-key': await outcome(() => producer.send({ topic: compacted, messages: plain('v', 1, 1) })),
  }))
}

module.exports = { run }
