'use strict'

// KafkaJS: runs one scenario against a cluster, or against a proxy in front of one, and prints what it saw as a line of
// JSON.
//
// Usage: probe.js SCENARIO --bootstrap HOST:PORT --prefix P [--seconds N]
//
// Nothing in the line depends on the run: names come without the prefix, and no address, id or clock is in it.

const { Session } = require('./session')

const SCENARIOS = {
  version: () => ({ library: `KafkaJS ${require('kafkajs/package.json').version}` }),
  produce: require('./produce').run,
  seek: require('./seek').run,
  classic: require('./groups').classic,
  kip848: require('./newer').kip848,
  idempotent: require('./idempotent').run,
  transactions: require('./transactions').run,
  admin: require('./admin').run,
  share: require('./newer').share,
  login: require('./connect').login,
  connect: require('./connect').run,
  stay: require('./stay').run,
}

async function main([name, ...others]) {
  if (!Object.hasOwn(SCENARIOS, name ?? '')) {
    console.error(`the first argument has to be one of ${Object.keys(SCENARIOS).sort()}`)
    return 2
  }
  try {
    console.log(JSON.stringify(await SCENARIOS[name](new Session(others))))
    return 0
  } catch (failure) {
    console.error(failure)
    return 1
  }
}

// Ends at once: a connection that hangs must not keep the program. What goes to a file is written by then.
main(process.argv.slice(2)).then((code) => process.exit(code))
