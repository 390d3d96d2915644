'use strict'

const { createHash } = require('node:crypto')
const { until } = require('./session')

/** The first explicit timestamp, in milliseconds; the next ones are a second apart. */
const TIME = 1_700_000_000_000

/** Bytes that no codec makes smaller, always the same ones. */
function noise(length, seed) {
  const blocks = []
  for (let number = 0; 32 * number < length; number += 1) {
    blocks.push(createHash('sha256').update(`${seed} ${number}`).digest())
  }
  return Buffer.concat(blocks).subarray(0, length)
}

/** Every odd shape of a record: null and empty keys, values and header values, and headers that share a key. */
function odd(partition) {
  const contents = [
    null, Buffer.alloc(0), Buffer.from('text'), Buffer.from('Grüße, 世界'), noise(300, 7), Buffer.alloc(5_000),
  ]
  const pairs = contents.flatMap((key) => contents.map((value) => ({ key, value })))
  return pairs.map((pair, number) => ({
    ...pair,
    partition,
    timestamp: String(TIME + 1000 * number),
    headers: number % 3 ? {} : { twice: ['first', 'second'], '': '', ключ: noise(40, number) },
  }))
}

/** Records with a text as value, spread over partitions. */
function plain(what, count, partitions) {
  return Array.from({ length: count }, (_, number) => ({
    partition: number % partitions,
    value: `${what} ${number}`,
    timestamp: String(TIME),
  }))
}

/** What a broker answered, by partition. */
function answers(found) {
  return found
    .map(({ partition, errorCode, baseOffset }) => `${partition}: error ${errorCode} offset ${baseOffset}`)
    .sort()
}

/** All that a topic holds, by partition. A last record in each tells where to stop, so nothing is missed. */
async function read(session, topic, partitions, { readUncommitted = false } = {}) {
  const last = `end of ${readUncommitted}`
  const ends = Array.from({ length: partitions }, (_, partition) => ({ partition, value: last }))
  await session.producer({}, (producer) => producer.send({ topic, messages: ends }))
  const lines = Object.fromEntries(ends.map(({ partition }) => [partition, []]))
  const ended = new Set()
  const consumer = session.newConsumer({ groupId: session.name(`reader of ${topic} ${readUncommitted}`), readUncommitted })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message }) => {
      if (message.value?.toString() === last) {
        ended.add(partition)
      } else if (!message.value?.toString().startsWith('end of ')) {
        lines[partition].push(line(message))
      }
    },
  })
  await until(`the end of ${topic}`, () => ended.size === partitions)
  await consumer.disconnect()
  return lines
}

function line({ offset, timestamp, key, value, headers }) {
  const pairs = Object.entries(headers ?? {}).flatMap(([name, values]) => [values].flat().map((one) => [name, one]))
  const text = pairs.map(([name, content]) => `${name}=${shown(content)}`).join(', ')
  // A broker's own time is no result.
  const time = Math.abs(Number(timestamp) - TIME) < 1e9 ? timestamp : 'by the broker'
  return `${offset} ${time} key=${shown(key)} value=${shown(value)} headers=[${text}]`
}

/** Short printable contents as they are, others as length and hash. */
function shown(content) {
  if (content === null || content === undefined) {
    return 'null'
  }
  const text = content.toString()
  return content.length < 40 && /^[\p{L}\p{P}\p{S}\p{N} ]*$/u.test(text)
    ? `'${text}'`
    : `${content.length}:${createHash('sha256').update(content).digest('hex').slice(0, 16)}`
}

module.exports = { TIME, answers, line, noise, odd, plain, read }
