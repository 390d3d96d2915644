'use strict'

const { readFileSync } = require('fs')

/** One word of the environment, which says what the client trusts and what it shows; no list of processes shows it. */
function said(name) {
  return process.env[`SKEIN_CLIENT_${name}`]
}

/** The members of a configuration that are about security. */
function security() {
  // Milliseconds before the end of a login at which the next one is due. KafkaJS takes ten seconds unless it is told, and
  // so logs in before every request if a login lasts no longer, which a broker refuses within a second of the last.
  const login = said('MECHANISM') && { sasl: sasl(), reauthenticationThreshold: 500 }
  return { ...(said('CA') && { ssl: ssl() }), ...login }
}

function ssl() {
  const shown = said('CERTIFICATE') && {
    cert: readFileSync(said('CERTIFICATE')),
    key: readFileSync(said('KEY')),
  }
  return { ca: [readFileSync(said('CA'))], ...shown }
}

function sasl() {
  const mechanism = said('MECHANISM').toLowerCase()
  if (mechanism === 'oauthbearer') {
    return { mechanism, oauthBearerProvider: async () => ({ value: await token() }) }
  }
  return { mechanism, username: said('USERNAME'), password: said('PASSWORD') }
}

/** That of the file, or a new one from the endpoint. */
async function token() {
  if (said('TOKEN_FILE')) {
    return readFileSync(said('TOKEN_FILE'), 'utf8').trim()
  }
  const body = new URLSearchParams({
    grant_type: 'client_credentials', client_id: said('USERNAME'), client_secret: said('PASSWORD'),
  })
  const answer = await fetch(said('TOKEN_ENDPOINT'), { method: 'POST', body })
  return (await answer.json()).access_token
}

module.exports = { security }
