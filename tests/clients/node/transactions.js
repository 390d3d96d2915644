'use strict'

const { answers, plain, read } = require('./records')
const { outcome, until } = require('./session')

/** Transactions: committed, aborted, open, with a group's offsets, and two producers under one id. */
async function run(session) {
  return {
    transactions: {
      outcomes: await outcomes(session), offsets: await offsets(session), fenced: await fenced(session),
    },
  }
}

function config(session, own) {
  return { transactionalId: session.name(own), idempotent: true, maxInFlightRequests: 1 }
}

/** A commit, an abort, a commit. */
async function outcomes(session) {
  const topic = await session.topic('outcomes', 2)
  const found = {}
  for (const what of ['first commit', 'abort', 'second commit']) {
    // Each under an id of its own: what was sent while the last transaction of an id was ending has been seen twice.
    await session.producer(config(session, what.replace(' ', '-')), async (producer) => {
      const transaction = await producer.transaction()
      found[what] = answers(await transaction.send({ topic, messages: plain(what, 6, 2) }))
      await (what === 'abort' ? transaction.abort() : transaction.commit())
    })
  }
  return {
    acknowledged: found,
    committed: await read(session, topic, 2),
    uncommitted: await read(session, topic, 2, { readUncommitted: true }),
  }
}

/** Consume, transform, produce: the group's offsets are part of the transaction. */
async function offsets(session) {
  const source = await session.topic('in', 1)
  const out = await session.topic('out', 1)
  const groupId = session.name('transformer')
  await session.producer({}, (producer) => producer.send({ topic: source, messages: plain('in', 10, 1) }))
  const results = {}
  await session.producer(config(session, 'transformer'), async (producer) => {
    for (const ending of ['abort', 'commit']) {
      // A new member begins where the group has committed, or at the beginning.
      const values = await ten(session, source, groupId)
      const transaction = await producer.transaction()
      await transaction.send({ topic: out, messages: values.map((value) => ({ partition: 0, value, timestamp: '1' })) })
      await transaction.sendOffsets({
        consumerGroupId: groupId, topics: [{ topic: source, partitions: [{ partition: 0, offset: '10' }] }],
      })
      await transaction[ending]()
      results[`after-${ending}`] = await session.admin((admin) =>
        until('the offset', () => committed(admin, groupId, source, ending === 'commit' ? '10' : '-1')))
    }
  })
  const lines = (await read(session, out, 1))[0]
  return { ...results, out: lines.map((line) => line.replace(/ .*? key/, ' key')) }
}

async function ten(session, topic, groupId) {
  const values = []
  const consumer = session.newConsumer({ groupId })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({ autoCommit: false, eachMessage: async ({ message }) => values.push(message.value) })
  await until('ten records', () => values.length === 10)
  await consumer.disconnect()
  return values
}

/** What a group has committed, once it is this; a commit that was part of a transaction may be on its way still. */
async function committed(admin, groupId, topic, offset) {
  const [{ partitions }] = await admin.fetchOffsets({ groupId, topics: [topic] })
  return partitions[0].offset === offset && partitions
}

/** A second producer takes the id over: the first one's open transaction is aborted, and its commit refused. */
async function fenced(session) {
  const topic = await session.topic('fenced', 1)
  const first = session.newProducer(config(session, 'fenced'))
  await first.connect()
  const open = await first.transaction()
  await open.send({ topic, messages: plain('first', 4, 1) })
  const results = {}
  await session.producer(config(session, 'fenced'), async (second) => {
    const transaction = await second.transaction()
    await transaction.send({ topic, messages: plain('second', 4, 1) })
    results['first-commit'] = await outcome(() => open.commit())
    await transaction.commit()
  })
  return { ...results, read: await read(session, topic, 1) }
}

module.exports = { run }
