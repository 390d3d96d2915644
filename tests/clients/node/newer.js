'use strict'

// Newer kinds of groups. KafkaJS ignores options that it does not know, so what is looked at is which requests it can send.

const requests = require('kafkajs/src/protocol/requests/apiKeys')
const { absent } = require('./lacking')

const TITLE = 'the list of requests'

function kip848() {
  return { kip848: absent(TITLE, requests, 'ConsumerGroupHeartbeat') }
}

function share() {
  return {
    share: absent(TITLE, requests, 'ShareGroupHeartbeat', 'ShareFetch'),
    streams: absent(TITLE, requests, 'StreamsGroupHeartbeat'),
  }
}

module.exports = { kip848, share }
